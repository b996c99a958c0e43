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
  bool wait_for_start() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    while (!begun_ && !closed_) changed_.wait(mutex_);
    return begun_;
  }
  /// Waits until it is known what comes next before that leg; a cut is told once.
  Next wait_for(std::int64_t leg) EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    std::optional<Next> what;
    while (!(what = next(leg))) changed_.wait(mutex_);
    if (*what == Next::cut) told_cut_ = leg;
    return *what;
  }
  /// Waits for that time on the clock, a stop, or the end of the run.
  void hold_until(double until) EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    while (!closed_ && !directive_.stopping && clock_.seconds() < until)
      changed_.wait_for(mutex_, until - clock_.seconds());
  }

  // The communication thread calls these.
  void begin() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    begun_ = true;
    changed_.notify_all();
  }
  /// Takes a message of the kind directive.
  void deliver(const Mail& mail) EXCLUDES_LOCK(mutex_) {
    MailReader reader(mail);
    MutexLock lock(mutex_);
    reader(directive_);
    changed_.notify_all();
  }

  /// The run is over; any thread.
  void close() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::optional<Next> next(std::int64_t leg) const REQUIRES_LOCK(mutex_) {
    if (closed_) return Next::abandoned;
    if (directive_.cut == leg && told_cut_ != leg) return Next::cut;
    if (directive_.end == leg) return directive_.save ? Next::last_cut : Next::end;
    if (directive_.allowed <= leg) return std::nullopt;
    return directive_.sample == leg ? Next::sample_and_commit : Next::commit;
  }

  const Clock& clock_;
  Mutex mutex_;
  Condition changed_;  // the gradient thread waits for it
  Directive directive_ GUARDED_BY(mutex_);
  std::int64_t told_cut_ GUARDED_BY(mutex_) = -1;  // leg of the last one
  bool begun_ GUARDED_BY(mutex_) = false, closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
