#pragma once

#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/base/stop_latch.hpp"
#include "engine/drivers/shared/matchmaker.hpp"
#include "engine/drivers/threads/locked_workers.hpp"
#include "engine/run/outcome.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// The exchanges of an asynchronous run on threads, from the moment they are due. The thread that
/// makes an edge startable executes it, or one of the threads that only do exchanges.
///
/// mutex_ guards the list of due edges and who waits for it. It comes after the workers' mutexes: a
/// thread that holds it waits for none of these.
class DueExchanges {
 public:
  /// `workers` and `closing`, which is set once no gradient commits any more, outlive this.
  /// `own_threads`: whether threads call execute_until_over().
  DueExchanges(const RunSpec& spec, LockedWorkers& workers, const StopLatch& closing,
               bool own_threads);

  /// Whether the throttle holds worker w. If the caller holds the worker's mutex, the answer stays
  /// true as long as it does: nothing moves the worker's edges, and all edges due by the time of an
  /// event now are counted.
  bool behind(int w) EXCLUDES_LOCK(mutex_);
  void count_hold() EXCLUDES_LOCK(mutex_);
  /// Returns when the throttle no longer holds worker w, or the run is closing. The thread executes
  /// what it can, and sleeps while other threads execute what it waits for.
  void catch_up(int w) EXCLUDES_LOCK(mutex_);
  /// Called after a commit of the calling thread: executes the exchanges that it
  /// made due, or wakes the threads that do.
  void after_commit() EXCLUDES_LOCK(mutex_);
  /// Executes the exchanges that may start.
  void execute() EXCLUDES_LOCK(mutex_);
  /// The body of a thread that does only exchanges.
  void execute_until_over() EXCLUDES_LOCK(mutex_);

  /// After the last gradient: executes every edge that is due. Returns how many were waiting.
  std::int64_t drain() EXCLUDES_LOCK(mutex_);
  /// From now on no thread starts another exchange or waits for one.
  void end() EXCLUDES_LOCK(mutex_);
  /// Waits for the exchanges in flight; returns false if they do not come to an end. No thread
  /// starts another until go_on().
  bool pause() EXCLUDES_LOCK(mutex_);
  void go_on() EXCLUDES_LOCK(mutex_);

  /// Returns when so many gradients are committed or these seconds have passed.
  void sleep_until(std::int64_t gradients, double seconds) EXCLUDES_LOCK(mutex_);
  /// Wakes threads that sleep for the throttle or for a number of gradients, if they may go on.
  void wake() EXCLUDES_LOCK(mutex_);

  /// Reports which edges were used and drawn, and how often a worker was held.
  void tell(Outcome& outcome) EXCLUDES_LOCK(mutex_);
  /// Only while no exchange is in flight.
  template <class Archive>
  void persist(Archive& archive) EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    archive(schedule_, matchmaker_, edges_, holds_);
  }

 private:
  void make_due() REQUIRES_LOCK(mutex_);
  /// Makes edges due and executes all that may start. Releases mutex_ during each exchange.
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
  std::int64_t next_watch_ GUARDED_BY(mutex_) = 0;  // gradients at which sleep_until() wakes
  int in_flight_ GUARDED_BY(mutex_) = 0;            // exchanges being executed
  bool pausing_ GUARDED_BY(mutex_) = false;         // no thread starts another exchange
  bool over_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
