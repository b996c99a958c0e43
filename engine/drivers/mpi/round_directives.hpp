#pragma once

#include <optional>

#include "engine/base/clock.hpp"
#include "engine/base/mutex.hpp"
#include "engine/drivers/mpi/round_coordinator.hpp"

namespace acid {

/// Rank 0's decisions about the legs, as the gradient thread of a process waits for them. mutex_
/// guards the newest directive.
class RoundDirectives {
 public:
  /// What the gradient thread does before anything of a leg is heard or committed.
  enum class Next { commit, sample_and_commit, cut, last_cut, end, abandoned };

  explicit RoundDirectives(const Clock& clock) : clock_(clock) {}

  // The gradient thread calls these.
  /// Waits for begin(). Returns false if the run ends before.
  bool wait_for_start() EXCLUDES_LOCK(mutex_);
  /// Waits until it is known what comes next before that leg; a cut is told once.
  Next wait_for(std::int64_t leg) EXCLUDES_LOCK(mutex_);
  /// Waits for that time on the clock, a stop, or the end of the run.
  void hold_until(double until) EXCLUDES_LOCK(mutex_);

  // The communication thread calls these.
  void begin() EXCLUDES_LOCK(mutex_);
  /// Takes a message of the kind directive.
  void deliver(const Mail& mail) EXCLUDES_LOCK(mutex_);

  /// The run is over; any thread.
  void close() EXCLUDES_LOCK(mutex_);

 private:
  std::optional<Next> next(std::int64_t leg) const REQUIRES_LOCK(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  Condition changed_;  // the gradient thread waits for it
  Directive directive_ GUARDED_BY(mutex_);
  std::int64_t told_cut_ GUARDED_BY(mutex_) = -1;  // leg of the last one
  bool begun_ GUARDED_BY(mutex_) = false, closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
