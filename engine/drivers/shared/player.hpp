#pragma once

#include <atomic>

#include "engine/drivers/shared/chain_pool.hpp"
#include "engine/run/commit.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"
#include "engine/run/run.hpp"

namespace acid {

/// Carries out the events of all workers of an asynchronous run in the order in which one thread
/// hands them over, on as many threads as there are: what happens to worker i on chain i of a
/// ChainPool, the gradient that it has in flight on chain n + i. So no bit depends on the threads.
///
/// What the tasks are given must outlive it.
class Player {
 public:
  /// `keeps_events`: reports them. `gradients`: false when the run has none.
  Player(const Run& run, int threads, bool keeps_events, bool gradients = true)
      : objective_(run.objective),
        workers_(run.spec.workers),
        ensemble_(run.spec, run.objective, gradients),
        log_(workers_, keeps_events, run.recorder),
        pool_(2 * workers_, threads) {}

  Ensemble& ensemble() { return ensemble_; }
  const Ensemble& ensemble() const { return ensemble_; }
  EventLog& log() { return log_; }
  ChainPool& pool() { return pool_; }
  /// A commit that was carried out had a loss that is not finite.
  bool diverged() const { return diverged_.load(std::memory_order_relaxed); }

  void begin(int w, double t) {
    pool_.submit(w, workers_ + w, ChainPool::Weight::light, [this, w, t](int) {
      ensemble_.worker(w).begin_gradient(t);
      log_.add(w, EventKind::begin_gradient, t, ensemble_.worker(w));
    });
  }
  /// `loss` is filled in, …
  void compute(int w, double& loss) {
    pool_.submit(workers_ + w, ChainPool::kNoChain, ChainPool::Weight::heavy,
                 [this, w, &loss](int lane) {
                   Worker& worker = ensemble_.worker(w);
                   loss = objective_.gradient(lane, w, worker.gradients(), worker.snapshot(),
                                              worker.gradient_buffers(), ensemble_.gradient(w));
                 });
  }
  /// … and read here. `what` says the rest, but for the gradient; `record` is filled in.
  void commit(Commit what, const double& loss, GradientRecord& record) {
    pool_.submit(what.worker, workers_ + what.worker, ChainPool::Weight::light,
                 [this, what, &loss, &record](int) mutable {
                   what.loss = loss;
                   what.gradient = what.direction = ensemble_.gradient(what.worker);
                   if (!acid::commit(what, ensemble_.worker(what.worker), log_, record))
                     diverged_.store(true, std::memory_order_relaxed);
                 });
  }
  /// `number`: the edge's in the drawn list.
  void exchange(int i, int j, double t, std::uint64_t number) {
    pool_.submit(i, j, ChainPool::Weight::light, [this, i, j, t, number](int) {
      Worker::exchange(ensemble_.worker(i), ensemble_.worker(j), t);
      log_.add(i, EventKind::exchange, t, ensemble_.worker(i), number);
      log_.add(j, EventKind::exchange, t, ensemble_.worker(j), number);
    });
  }

 private:
  Objective& objective_;
  const int workers_;
  Ensemble ensemble_;
  EventLog log_;  // worker i's: chain i
  std::atomic<bool> diverged_{false};
  ChainPool pool_;  // last: its tasks use the members above
};

}  // namespace acid
