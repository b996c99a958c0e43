#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/drivers/mpi/all_reduce.hpp"
#include "engine/drivers/mpi/gradient_pace.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/neighbours.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/mpi/round_coordinator.hpp"

namespace acid {

/// One process of a synchronous run: its worker, a thread that computes gradients and changes the
/// worker, and a thread that talks to the others. Legs, events and bits are those of ThreadsSync.
///
/// The worker is the gradient thread's, but for the communication thread's filling it before the
/// first round. What the two hand to each other is under mutex_, or handed over by it: a bucket of
/// the gradient and the vector to be published until the exchange is over, what was received from
/// then on.
class MpiSync {
 public:
  /// `coordinator`, `collector`: on rank 0 only.
  MpiSync(const Run& run, const MpiOptions& options, Post& post, RoundCoordinator* coordinator,
          Collector* collector);

  /// The gradient thread, from the start of the run to its end.
  void train() EXCLUDES_LOCK(mutex_);
  /// The communication thread, likewise.
  void communicate() EXCLUDES_LOCK(mutex_);
  /// Ends both threads without an end of the run; any thread.
  void abandon() EXCLUDES_LOCK(mutex_);

 private:
  /// What comes before anything of a leg is heard or committed, as the gradient thread is told.
  enum class Next { commit, sample_and_commit, cut, last_cut, end, abandoned };

  std::optional<std::int64_t> wait_for_start() EXCLUDES_LOCK(mutex_);
  bool act(Phase phase, std::int64_t exchange) EXCLUDES_LOCK(mutex_);
  void compute() EXCLUDES_LOCK(mutex_);
  void say(std::int64_t exchange) EXCLUDES_LOCK(mutex_);
  void hear(std::int64_t exchange);
  void step();
  void hand_over_parts(std::size_t first, std::size_t last) EXCLUDES_LOCK(mutex_);
  void hand_over_rest() EXCLUDES_LOCK(mutex_);
  void begin_exchange() EXCLUDES_LOCK(mutex_);
  void hold_until(double until) EXCLUDES_LOCK(mutex_);
  bool may_commit(std::int64_t leg) EXCLUDES_LOCK(mutex_);
  Next wait_for_directive(std::int64_t leg) EXCLUDES_LOCK(mutex_);
  std::optional<Next> next(std::int64_t leg) const REQUIRES_LOCK(mutex_);
  bool wait_for_exchange() EXCLUDES_LOCK(mutex_);
  Position position(std::int64_t legs) const;
  /// What the worker has done since then, by the clock, ends now. Returns how long that was.
  double end_span(SpanKind kind, double since);

  void deliver(const Mail& mail) EXCLUDES_LOCK(mutex_);
  void started(Start& start) EXCLUDES_LOCK(mutex_);
  void take_handed_over() EXCLUDES_LOCK(mutex_);
  void exchange_is_over() EXCLUDES_LOCK(mutex_);

  const Run& run_;
  const RunSpec& spec_;
  const MpiOptions& options_;
  Post& post_;
  GradientPace pace_;  // the gradient thread's
  RoundCoordinator* const coordinator_;
  Collector* const collector_;
  const int rank_;
  const std::int64_t bytes_per_message_;
  const std::int64_t last_leg_;  // of the budget; none is begun from there on
  const WorkerSettings settings_;
  const std::size_t message_size_;
  const MixingMatrix weights_;  // of neighbours
  const Buckets buckets_;       // of a message

  // The gradient thread's, once it has begun.
  WorkerMemory<float> memory_;
  Worker worker_;
  Arena<float> sent_gradient_;  // where transports cannot send the worker's own
  const std::span<float> gradient_;
  Arena<float> message_;  // to all workers, unless it is the gradient
  Reporter reporter_;
  WorkerReport report_;
  Timeline timeline_{1};  // of this worker alone, as number 0
  double loss_ = 0;
  bool diverged_ = false;
  std::int64_t marked_cut_ = -1;      // leg of the last checkpoint mark
  std::vector<std::size_t> missing_;  // by bucket: elements that are not final
  double started_seconds_ = 0;        // earlier attempts' time is before it

  Mutex mutex_;
  Condition changed_;  // the gradient thread waits for it
  Directive directive_ GUARDED_BY(mutex_);
  std::vector<std::size_t> final_buckets_ GUARDED_BY(mutex_);  // to be contributed
  std::optional<std::int64_t> published_ GUARDED_BY(mutex_);   // exchange to be sent
  bool exchanging_ GUARDED_BY(mutex_) = false;                 // one has begun and is not over
  bool begun_ GUARDED_BY(mutex_) = false, closing_ GUARDED_BY(mutex_) = false;

  // The communication thread's own.
  std::optional<AllReduce> all_reduce_;
  std::optional<NeighbourExchange> neighbours_;
  StartReceiver start_;
  bool over_ = false, told_stop_ = false;
  std::atomic<bool> abandoned_{false};
};

/// A synchronous run under the mpi driver; run_mpi() says the rest.
Outcome run_mpi_sync(const Run& run, const MpiOptions& options);

}  // namespace acid
