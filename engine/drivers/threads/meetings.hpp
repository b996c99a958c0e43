#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/base/cyclic_barrier.hpp"
#include "engine/base/stop_latch.hpp"
#include "engine/base/thread_group.hpp"
#include "engine/drivers/shared/matchmaker.hpp"
#include "engine/drivers/threads/pace.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/run.hpp"
#include "engine/run/timeline.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// One asynchronous run on threads.
///
/// Locks: each worker has a mutex that guards everything that belongs to it (its state machine, its
/// notes, its idle time, its events); an exchange holds two of them, lower index first; measuring
/// holds all, in index order. matching_ guards the list of due edges and comes last: nobody waits
/// for a worker's mutex while holding matching_.
class ThreadsAsync {
 public:
  ThreadsAsync(const Run& run, const ThreadsOptions& options);
  Outcome execute();

  static constexpr std::string_view kLayout = "threads-async/4";

  /// The state, the vectors apart, while nothing happens: no exchange is in flight, and the caller
  /// holds matching_ and every worker's mutex or is the only thread there is.
  template <class Archive>
  void persist(Archive& archive) NO_LOCK_ANALYSIS;

 private:
  /// What belongs to one worker, on cache lines of its own.
  struct alignas(128) Slot {
    Mutex mutex;
    GradientRecords notes;  // since the last sample
    double idle_seconds = 0;
    bool computing = false;    // a gradient has begun and is not committed
    double backlog_limit = 0;  // constant
  };

  void train() EXCLUDES_LOCK(matching_);
  std::int64_t drain() EXCLUDES_LOCK(matching_);
  void release_exchangers() EXCLUDES_LOCK(matching_);
  Outcome finish(const Position& end, std::int64_t waiting) NO_LOCK_ANALYSIS;
  void work(int w);
  void exchange_until_over() EXCLUDES_LOCK(matching_);
  /// The next gradient begins with it unless the throttle holds it. False when the budget is spent
  /// (or the run is closing): nothing was committed.
  bool commit(int w, double loss, double started) EXCLUDES_LOCK(matching_);
  /// False when the throttle holds the gradient.
  bool begin(int w) EXCLUDES_LOCK(matching_);
  /// As often as the throttle holds it. False when the run is closing.
  bool begin_once_caught_up(int w) EXCLUDES_LOCK(matching_);
  /// Asked while the worker's mutex is held, the answer stays true as long as it is: nothing moves
  /// the worker's edges, and of those due by the time of an event now all are counted.
  bool behind(int w) EXCLUDES_LOCK(matching_);
  void catch_up(int w) EXCLUDES_LOCK(matching_);
  /// Makes edges due up to now and executes what may start, until nothing may. Lets go of matching_
  /// during each exchange.
  void execute_ready() REQUIRES_LOCK(matching_);
  void make_due() REQUIRES_LOCK(matching_);
  void perform(const DueEdge& edge) EXCLUDES_LOCK(matching_);
  void done(const DueEdge& edge) REQUIRES_LOCK(matching_);

  void watch();
  /// Until this normalised time, these seconds, or a little while.
  void sleep_until(double time, double until_seconds) EXCLUDES_LOCK(matching_);
  void take_sample() NO_LOCK_ANALYSIS;
  void resume(const CheckpointFile& file);
  void save_cut() EXCLUDES_LOCK(matching_);
  /// Waits for the exchanges in flight; false when they do not come to an end. From then on nobody
  /// starts another until resume_exchanges().
  bool finish_exchanges() EXCLUDES_LOCK(matching_);
  void resume_exchanges() EXCLUDES_LOCK(matching_);
  void save_paused() EXCLUDES_LOCK(matching_);
  void lock_workers() NO_LOCK_ANALYSIS;
  void unlock_workers() NO_LOCK_ANALYSIS;
  Position position(std::int64_t gradients) const;
  void close() EXCLUDES_LOCK(matching_);
  void fail() EXCLUDES_LOCK(matching_);  // a thread threw
  GradientRecords collect_notes() NO_LOCK_ANALYSIS;
  double seconds() const { return run_.clock.seconds() - started_seconds_; }
  double now() const {
    return static_cast<double>(commits_.load()) / static_cast<double>(spec_.workers);
  }
  Slot& slot(int w) { return slots_[static_cast<std::size_t>(w)]; }

  const Run& run_;
  const RunSpec& spec_;
  const ThreadsOptions& options_;
  Pace pace_;
  CyclicBarrier start_line_;
  double started_seconds_ = 0;  // set before the threads start; earlier attempts' time is before it
  Ensemble ensemble_;           // worker i: guarded by slots_[i].mutex
  EventLog log_;                // worker i's: guarded by slots_[i].mutex
  Timeline timeline_;           // likewise
  std::unique_ptr<Slot[]> slots_;
  std::atomic<std::int64_t> commits_{0};    // changes only under a worker's mutex
  std::atomic<std::int64_t> exchanges_{0};  // changes only under two workers' mutexes
  std::atomic<double> trained_seconds_{0};  // when the latest gradient committed
  std::atomic<bool> diverged_{false};
  StopLatch closing_;  // no gradient commits any more

  Mutex matching_;
  Condition caught_up_, exchange_ready_, watch_due_, paused_;
  EdgeSchedule schedule_ GUARDED_BY(matching_);
  Matchmaker matchmaker_ GUARDED_BY(matching_);
  EdgeCounter edges_ GUARDED_BY(matching_);
  std::int64_t holds_ GUARDED_BY(matching_) = 0;
  std::int64_t next_watch_ GUARDED_BY(matching_) = 0;  // when watch() wakes, in gradients
  int in_flight_ GUARDED_BY(matching_) = 0;            // exchanges being executed
  bool pausing_ GUARDED_BY(matching_) = false;         // nobody starts another
  bool exchanging_over_ GUARDED_BY(matching_) = false;
  Sampler sampler_;             // calling thread only
  double sampled_seconds_ = 0;  // of the latest sample; calling thread only
};

}  // namespace acid
