#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "engine/drivers/replay/script_cursors.hpp"

namespace acid {

/// Time in a script: clocks count commits, so a time is a number of commits ÷ n. One clock counts
/// those of all workers; or every worker has one of its own, which counts those that it knows of.
/// Then an event waits until as many gradients are committed as its time tells of.
class CommitClocks {
 public:
  /// `workers` outlives it. `complete`: as of ReplayOrder.
  CommitClocks(ScriptCursors& workers, bool shared_clock, bool complete);

  bool shared() const { return shared_; }
  std::int64_t commits() const { return commits_; }  // so far, of all workers
  /// Throws BrokenScript where the worker's event is before its last, or after the end.
  void check_time(int worker) const;
  /// Whether the worker has to wait with its event; it is woken when it need not.
  bool waits(int worker);
  /// What the worker's event, a commit, is by its clock. Throws BrokenScript where it cannot be.
  std::int64_t number(int worker) const;
  /// That commit has been executed.
  void commit(std::int64_t number);
  /// Of the run's events some are missing, so that clocks tell of commits that never come: wakes
  /// all who wait. False when nobody does.
  bool break_off();

  /// The commits that must be there before one of those who wait may go on, and the worker: the
  /// one that waits for fewest.
  using Waiting = std::pair<std::int64_t, int>;
  const Waiting* first_waiting() const { return waiting_.empty() ? nullptr : &waiting_.top(); }

 private:
  void wake(std::int64_t commits);

  ScriptCursors& workers_;
  const bool shared_;
  bool count_ = true;            // false once commits may be missing that clocks tell of
  double limit_ = 0;             // no event is later
  std::vector<bool> committed_;  // by commit number, as far as the script has commits
  std::int64_t commits_ = 0;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
};

}  // namespace acid
