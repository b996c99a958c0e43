#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "engine/base/mutex.hpp"
#include "engine/drivers/shared/run_shell.hpp"
#include "engine/run/commit.hpp"
#include "engine/run/timeline.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// The workers of an asynchronous run on threads, and how far they are together: normalised time is
/// the gradients that they have committed ÷ n.
///
/// Locks: each worker has a mutex that guards everything that belongs to it (its state machine, its
/// notes, its idle time, its events and spans). An exchange holds two of them, lower index first;
/// AllWorkersLocked holds all, in index order. A count changes only under the mutex of a worker
/// that it counts for, so under all of them no count changes.
class LockedWorkers {
 public:
  /// One worker's part without the state machine, on cache lines of its own.
  struct alignas(128) Own {
    Mutex mutex;
    GradientRecords notes;  // since the last sample
    double idle_seconds = 0;
    bool computing = false;  // a gradient has begun and is not committed
    template <class Archive>
    void persist(Archive& archive) {
      archive(notes, idle_seconds, computing);
    }
  };

  /// `run` outlives this.
  explicit LockedWorkers(const Run& run);

  // Any thread.
  std::int64_t commits() const { return commits_.load(); }
  /// Counts another message that a server has heard. Returns its number, from 1.
  std::int64_t arrive() { return exchanges_.fetch_add(1) + 1; }
  double now() const { return static_cast<double>(commits()) / static_cast<double>(spec_.workers); }
  double seconds() const { return run_.clock.seconds() - started_seconds_; }  // spent on the run
  double trained_seconds() const { return trained_seconds_.load(); }  // at the latest commit
  Position position(std::int64_t gradients) const {
    return shell_.position(gradients, seconds(), exchanges_.load());
  }
  Own& own(int w) { return own_[static_cast<std::size_t>(w)]; }

  /// Computes the gradient of worker w that has begun and returns its loss. Called without the
  /// mutex by the thread that begins and commits the worker's gradients: the snapshot, its buffers
  /// and the count of gradients change only in these two events.
  double compute(int w);

  // The caller holds the mutex of worker w.
  void begin(int w, double t);
  /// Counts a gradient that the worker commits next. Returns the run's position right after it;
  /// nothing if the budget has none left.
  std::optional<Position> count_commit();
  /// Returns false if the loss is not finite. `started`: seconds() when its computation began. Only
  /// begins_next and the staleness of `more` count, which only the caller knows.
  bool commit(int w, const Position& here, double loss, double started, const Commit& more);
  /// Ends a wait of the worker that began at `since` (seconds()). Returns the time now.
  double add_wait(int w, double since);
  /// The same of a visit: a server hears and answers the worker, or visits the one above.
  double add_visit(int w, double since);

  // The caller holds no mutex.
  void exchange(const DueEdge& edge);
  /// Ends a hold of worker w that began at `since` (seconds()).
  void waited(int w, double since);

  // The caller holds all mutexes, or is the only thread.
  RunShell& shell() { return shell_; }
  Ensemble& ensemble() { return shell_.ensemble; }
  EventLog& log() { return shell_.log; }
  /// Takes out all notes since the last sample, in commit order.
  GradientRecords collect_notes();
  Totals totals(const Position& here);
  /// Reports how the workers spent their time until then, in seconds.
  void tell_times(double until, Outcome& outcome);

  /// The state without vectors and without what own() gives.
  template <class Archive>
  void persist(Archive& archive) {
    std::int64_t commits = commits_.load(), exchanges = exchanges_.load();
    double spent = seconds();
    archive(shell_.ensemble, shell_.log, commits, exchanges, spent);
    if constexpr (Archive::kReads) {
      commits_.store(commits);
      exchanges_.store(exchanges);
      trained_seconds_.store(spent);
      started_seconds_ -= spent;
    }
  }

 private:
  const Run& run_;
  const RunSpec& spec_;
  double started_seconds_ = 0;  // set before the threads start; earlier attempts' time is before it
  RunShell shell_;     // worker i and its log: guarded by own_[i].mutex; the sampler: the caller's
  Timeline timeline_;  // worker i's part: guarded by own_[i].mutex
  std::unique_ptr<Own[]> own_;
  std::atomic<std::int64_t> commits_{0};  // changes only under a worker's mutex
  std::atomic<std::int64_t> exchanges_{
      0};  // changes only under two workers' mutexes, or a server's
  std::atomic<double> trained_seconds_{0};
};

/// Holds the mutexes of all workers: no event is half done.
class AllWorkersLocked {
 public:
  explicit AllWorkersLocked(LockedWorkers& workers) NO_LOCK_ANALYSIS;
  ~AllWorkersLocked() NO_LOCK_ANALYSIS;
  AllWorkersLocked(const AllWorkersLocked&) = delete;
  AllWorkersLocked& operator=(const AllWorkersLocked&) = delete;

 private:
  LockedWorkers& workers_;
};

}  // namespace acid
