#pragma once

#include <atomic>
#include <utility>

#include "engine/drivers/shared/chain_pool.hpp"
#include "engine/drivers/shared/run_shell.hpp"
#include "engine/run/commit.hpp"
#include "engine/run/servers.hpp"

namespace acid {

/// Carries out the events of all workers of an asynchronous run in the order in which one thread
/// hands them over, on as many threads as there are: what happens to worker i on chain i of a
/// ChainPool, the gradient that it has in flight on chain n + i, and what happens to server h on
/// chain 2n + h, the one above hubs being the last. So no bit depends on the threads.
///
/// The arguments of the tasks must outlive it.
class Player {
 public:
  Player(RunShell& shell, int threads)
      : objective_(shell.run.objective),
        recorder_(shell.run.recorder),
        has_extra_bytes_(shell.spec.method.rules.floats->extra_floats().has_value()),
        workers_(shell.spec.workers),
        ensemble_(shell.ensemble),
        log_(shell.log),
        pool_(2 * workers_ + shell.spec.method.servers(workers_) + 1, threads) {}

  Ensemble& ensemble() { return ensemble_; }
  const Ensemble& ensemble() const { return ensemble_; }
  EventLog& log() { return log_; }
  ChainPool& pool() { return pool_; }
  /// The growth of Ensemble::extra_bytes() since the last call. Waits for all light tasks first if
  /// there may be such bytes.
  std::int64_t take_extra_bytes() {
    if (!has_extra_bytes_) return 0;
    pool_.wait_light();
    const std::int64_t all = ensemble_.extra_bytes();
    return all - std::exchange(extra_bytes_, all);
  }
  /// Reports the run's progress: `here`, and the extra bytes that are known by now and not taken.
  void tell_progress(Position here) {
    here.bytes += ensemble_.extra_bytes() - extra_bytes_;
    recorder_.progress(here);
  }
  template <class Archive>
  void persist(Archive& archive) {
    archive(ensemble_, log_, extra_bytes_);
  }
  /// Whether the loss of a commit that was carried out is not finite.
  bool diverged() const { return diverged_.load(std::memory_order_relaxed); }

  void begin(int w, double t) {
    pool_.submit(w, workers_ + w, ChainPool::Weight::light, [this, w, t](int) {
      ensemble_.worker(w).begin_gradient(t);
      log_.add(w, EventKind::begin_gradient, t, ensemble_.worker(w));
    });
  }
  /// Computes the gradient of worker w; the task fills in `loss`.
  void compute(int w, double& loss) {
    pool_.submit(workers_ + w, ChainPool::kNoChain, ChainPool::Weight::heavy,
                 [this, w, &loss](int lane) {
                   Worker& worker = ensemble_.worker(w);
                   loss = objective_.gradient(lane, w, worker.gradients(), worker.snapshot(),
                                              worker.gradient_buffers(), ensemble_.gradient(w));
                 });
  }
  /// Commits the gradient; the task reads `loss` and fills in `record`. `what` says the rest.
  void commit(Commit what, const double& loss, GradientRecord& record) {
    pool_.submit(what.worker, workers_ + what.worker, ChainPool::Weight::light,
                 [this, what, &loss, &record](int) mutable {
                   what.loss = loss;
                   what.gradient = what.direction = ensemble_.gradient(what.worker);
                   if (!acid::commit(what, ensemble_.worker(what.worker), log_, record))
                     diverged_.store(true, std::memory_order_relaxed);
                 });
  }
  /// `number`: the edge's number in the drawn list.
  void exchange(int i, int j, double t, std::uint64_t number) {
    pool_.submit(i, j, ChainPool::Weight::light, [this, i, j, t, number](int) {
      Worker::exchange(ensemble_.worker(i), ensemble_.worker(j), t);
      log_.add(i, EventKind::exchange, t, ensemble_.worker(i), number);
      log_.add(j, EventKind::exchange, t, ensemble_.worker(j), number);
    });
  }
  /// `own` ← the message of a caller (Servers). `number`: the arrival's number, for a worker's log.
  void say(int caller, double t, std::span<float> own, std::uint64_t number = 0) {
    submit(caller, [this, caller, t, own, number] {
      if (caller >= workers_) return servers().say(caller - workers_, t, own);
      ensemble_.worker(caller).offer(t, own);
      log_.add(caller, EventKind::offer, t, ensemble_.worker(caller), number);
    });
  }
  /// The caller's server hears `said`; `reply` ← its answer.
  void serve(int caller, double t, std::span<const float> said, std::span<float> reply,
             const StepSize& arrival) {
    const int s = servers().of(caller);
    pool_.submit(chain_of(caller), chain_of(servers().caller(s)), ChainPool::Weight::light,
                 [this, s, t, said, reply, arrival](int) {
                   acid::serve(servers().server(s), t, said, reply, arrival);
                 });
  }
  /// A caller hears the reply to its message; `number` goes into a worker's log.
  void hear(int caller, double t, std::span<const float> own, std::span<const float> reply,
            std::uint64_t number = 0) {
    submit(caller, [this, caller, t, own, reply, number] {
      if (caller >= workers_) return servers().hear(caller - workers_, t, own, reply);
      hear_reply(ensemble_.worker(caller), t, own, reply);
      log_.add(caller, EventKind::apply, t, ensemble_.worker(caller), number);
    });
  }

 private:
  Servers& servers() { return ensemble_.servers(); }
  int chain_of(int caller) const { return caller < workers_ ? caller : caller + workers_; }
  /// Submits a caller's task. A worker's task does not run beside its gradient.
  template <class Task>
  void submit(int caller, Task task) {
    pool_.submit(chain_of(caller), caller < workers_ ? workers_ + caller : ChainPool::kNoChain,
                 ChainPool::Weight::light, [task](int) { task(); });
  }

  Objective& objective_;
  Recorder& recorder_;
  const bool has_extra_bytes_;
  std::int64_t extra_bytes_ = 0;  // those already taken
  const int workers_;
  Ensemble& ensemble_;
  EventLog& log_;  // worker i's log: chain i
  std::atomic<bool> diverged_{false};
  ChainPool pool_;  // last: its tasks use the members above
};

}  // namespace acid
