#pragma once

#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/drivers/mpi/clock.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/mpi/window.hpp"
#include "engine/run/commit.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/run.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// The edges of one worker that are due and not exchanged, in drawn order; the first may be in
/// flight. Edges with lost workers are counted as left out instead. Guarded by its user.
class DueEdges {
 public:
  DueEdges(const RunSpec& spec, int worker)
      : worker_(worker),
        schedule_(*spec.topology, spec.method.rate, spec.seeds),
        gone_(static_cast<std::size_t>(spec.workers)) {}

  /// Draws the list up to that normalised time.
  void draw_until(double t) {
    while (schedule_.peek().due <= t) {
      const DueEdge edge = schedule_.pop();
      if (edge.i == worker_ || edge.j == worker_) queue(edge);
    }
  }
  /// The same for a resumed run, where all these edges were exchanged.
  void pass_until(double t) {
    while (schedule_.peek().due <= t) schedule_.pop();
  }

  /// Whether an edge that was due by then is not exchanged.
  bool any_by(double t) const { return !edges_.empty() && edges_.front().due <= t; }
  const DueEdge& first() const { return edges_.front(); }
  /// The edges that wait, without the one in flight.
  std::int64_t waiting() const {
    return static_cast<std::int64_t>(edges_.size()) - (in_flight_ ? 1 : 0);
  }

  // These concern the first edge.
  void begin() { in_flight_ = true; }
  void give_up() { in_flight_ = false; }
  void finish() {
    edges_.pop_front();
    in_flight_ = false;
  }

  void lose(int worker) {
    gone_[static_cast<std::size_t>(worker)] = true;
    for (const DueEdge& edge : std::exchange(edges_, {})) queue(edge);
  }
  std::vector<EdgeUse> left_out() const { return left_out_.list(); }

 private:
  void queue(const DueEdge& edge) {
    if (gone_[static_cast<std::size_t>(edge.i)] || gone_[static_cast<std::size_t>(edge.j)])
      left_out_.add(edge.i, edge.j);
    else
      edges_.push_back(edge);
  }

  const int worker_;
  EdgeSchedule schedule_;
  std::deque<DueEdge> edges_;
  bool in_flight_ = false;
  std::vector<bool> gone_;  // workers that are lost
  EdgeCounter left_out_;    // due exchanges with lost workers that were not applied
};

/// The worker of one process of an asynchronous run, with its clock, its due edges, its report and
/// its log, as the gradient thread and the communication thread share it.
///
/// `mutex` guards all of it. The gradient being computed reads the snapshot and the gradient
/// buffers without it: they change only in the gradient thread's own events. Every event happens at
/// the clock's time and is logged.
class SharedWorker {
 public:
  /// The worker's memory is a window of the process if it lies in the host's.
  SharedWorker(const Run& run, Post& post);

  Mutex mutex;
  Condition changed;  // the gradient thread waits for it

  /// For the StartReceiver, before anything happens.
  Worker& state() { return worker_; }
  /// What lies in this process's window, and in every other's.
  Window& window() { return window_; }
  /// Begins the run, so many seconds into it; a resumed run has the clock at `count` and `known`
  /// gradients of all workers.
  void start(Start& start, double seconds, std::int64_t count, std::int64_t known)
      REQUIRES_LOCK(mutex);

  WorkerClock& time() REQUIRES_LOCK(mutex) { return time_; }
  DueEdges& edges() REQUIRES_LOCK(mutex) { return edges_; }
  const WorkerReport& report() const REQUIRES_LOCK(mutex) { return report_; }
  std::int64_t gradients() const REQUIRES_LOCK(mutex) { return worker_.gradients(); }
  bool diverged() const REQUIRES_LOCK(mutex) { return diverged_; }
  /// Whether the partner of an exchange is changing the worker's vectors.
  bool lent() const REQUIRES_LOCK(mutex) { return lent_; }
  /// Draws the edges that are due by the clock's known gradients.
  void make_due() REQUIRES_LOCK(mutex);
  /// Whether the throttle holds a gradient that would begin now.
  bool behind() REQUIRES_LOCK(mutex);

  // The gradient thread calls these.
  void begin_gradient(double t) REQUIRES_LOCK(mutex);
  /// Called without the mutex. Returns the loss of the gradient that has begun.
  double compute();
  /// Counts a gradient. Returns the run's position by the clock, for commit().
  Position count() REQUIRES_LOCK(mutex);
  /// Returns false if the loss is not finite. `more`: as in LockedWorkers::commit.
  bool commit(const Position& here, double loss, const Commit& more) REQUIRES_LOCK(mutex);
  /// Says the worker's message to a server; the log must still get the number of its arrival.
  void say(double t, std::span<float> out) REQUIRES_LOCK(mutex);
  void count_hold() REQUIRES_LOCK(mutex) { ++report_.holds; }
  /// Ends a span that began at `since` by the wall clock. Returns its seconds.
  double end_span(SpanKind kind, double since) REQUIRES_LOCK(mutex);
  void end_wait(double since) REQUIRES_LOCK(mutex) {
    report_.idle_seconds += end_span(SpanKind::wait, since);
  }

  // The communication thread calls these: the exchange of the first due edge, which began at
  // `since` by the wall clock.
  /// An exchange by offers: both workers offer, send and then apply.
  void offer(std::span<float> out) REQUIRES_LOCK(mutex);
  void apply(double offered, std::span<const float> own, std::span<const float> partners,
             double since) REQUIRES_LOCK(mutex);
  /// An exchange in place: one worker lends its memory and takes it back after the exchange at `t`.
  double lend() REQUIRES_LOCK(mutex);
  void take_back(double t, double since) REQUIRES_LOCK(mutex);
  /// An exchange in place: the other worker changes both.
  void exchange_with(std::span<float> partner, double partner_elapsed, double since)
      REQUIRES_LOCK(mutex);
  /// The worker has reached a mark.
  void mark(MarkKind kind, double t) REQUIRES_LOCK(mutex);
  EventLog& log() REQUIRES_LOCK(mutex) { return reporter_.log(); }

 private:
  void log(EventKind kind, std::uint64_t exchange = 0) REQUIRES_LOCK(mutex);
  void exchanged(double since) REQUIRES_LOCK(mutex);

  const Run& run_;
  const int rank_;
  const double backlog_limit_;
  const WorkerSettings settings_;
  Window window_;
  const std::span<float> shared_;  // the window's memory
  WorkerMemory<float> memory_;
  Worker worker_;  // guarded by mutex, as above
  Reporter reporter_ GUARDED_BY(mutex);
  WorkerClock time_ GUARDED_BY(mutex);
  DueEdges edges_ GUARDED_BY(mutex);
  WorkerReport report_ GUARDED_BY(mutex);
  Timeline timeline_ GUARDED_BY(mutex){1};        // of this worker alone, as number 0
  double started_seconds_ GUARDED_BY(mutex) = 0;  // the time of earlier attempts is before it
  bool lent_ GUARDED_BY(mutex) = false;
  bool diverged_ GUARDED_BY(mutex) = false;
};

}  // namespace acid
