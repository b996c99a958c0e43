#pragma once

#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/base/stop_latch.hpp"
#include "engine/drivers/shared/matchmaker.hpp"
#include "engine/drivers/threads/locked_workers.hpp"
#include "engine/run/outcome.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// The exchanges of an asynchronous run on threads, from the moment that they are due. Whoever
/// makes an edge startable executes it, or threads do that have nothing else to do.
///
/// mutex_ guards the list of due edges and who waits for it. It comes after the workers' mutexes:
/// nobody waits for one of these while holding it.
class DueExchanges {
 public:
  /// `workers` and `closing`, which is set once no gradient commits any more, outlive this.
  /// `own_threads`: there are threads that execute_until_over().
  DueExchanges(const RunSpec& spec, LockedWorkers& workers, const StopLatch& closing,
               bool own_threads);

  /// Whether the throttle holds worker w. Asked while the worker's mutex is held, the answer stays
  /// true as long as it is: nothing moves the worker's edges, and of those due by the time of an
  /// event now all are counted.
  bool behind(int w) EXCLUDES_LOCK(mutex_);
  void count_hold() EXCLUDES_LOCK(mutex_);
  /// Until the throttle holds worker w no longer, or the run is closing. The thread executes what
  /// it can itself, and sleeps while others have under way what it waits for.
  void catch_up(int w) EXCLUDES_LOCK(mutex_);
  /// The calling thread has committed a gradient: has executed what that made due.
  void after_commit() EXCLUDES_LOCK(mutex_);
  /// Executes what may start.
  void execute() EXCLUDES_LOCK(mutex_);
  /// What a thread that does exchanges alone does.
  void execute_until_over() EXCLUDES_LOCK(mutex_);

  /// After the last gradient: executes every edge that is due. Returns how many were waiting.
  std::int64_t drain() EXCLUDES_LOCK(mutex_);
  /// Nobody starts another exchange, and nobody waits for one.
  void end() EXCLUDES_LOCK(mutex_);
  /// Waits for the exchanges in flight; false when they do not come to an end. From then on nobody
  /// starts another until go_on().
  bool pause() EXCLUDES_LOCK(mutex_);
  void go_on() EXCLUDES_LOCK(mutex_);

  /// Until so many gradients are committed or, whatever comes first, these seconds have passed.
  void sleep_until(std::int64_t gradients, double seconds) EXCLUDES_LOCK(mutex_);
  /// Wakes who sleeps until the throttle or that many gradients let it go on.
  void wake() EXCLUDES_LOCK(mutex_);

  /// Tells which edges were used and drawn, and how often a worker was held.
  void tell(Outcome& outcome) EXCLUDES_LOCK(mutex_);
  /// While no exchange is in flight.
  template <class Archive>
  void persist(Archive& archive) EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    archive(schedule_, matchmaker_, edges_, holds_);
  }

 private:
  void make_due() REQUIRES_LOCK(mutex_);
  /// Makes edges due up to now and executes what may start, until nothing may. Lets go of mutex_
  /// during each exchange.
  void execute_ready() REQUIRES_LOCK(mutex_);
  void done(const DueEdge& edge) REQUIRES_LOCK(mutex_);
  bool holds(int w) const REQUIRES_LOCK(mutex_);

  LockedWorkers& workers_;
  const StopLatch& closing_;
  const bool own_threads_;
  std::vector<double> backlog_limits_;  // by worker; constant

  Mutex mutex_;
  Condition caught_up_, startable_, watch_due_, paused_;
  EdgeSchedule schedule_ GUARDED_BY(mutex_);
  Matchmaker matchmaker_ GUARDED_BY(mutex_);
  EdgeCounter edges_ GUARDED_BY(mutex_);
  std::int64_t holds_ GUARDED_BY(mutex_) = 0;
  std::int64_t next_watch_ GUARDED_BY(mutex_) = 0;  // when sleep_until() wakes, in gradients
  int in_flight_ GUARDED_BY(mutex_) = 0;            // exchanges being executed
  bool pausing_ GUARDED_BY(mutex_) = false;         // nobody starts another
  bool over_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
