#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "engine/drivers/replay/script_cursors.hpp"

namespace acid {

/// Time in a script: clocks count commits, so a time is a number of commits ÷ n. One clock counts
/// those of all workers, or every worker has a clock that counts those it knows of. In the second
/// case an event waits until as many gradients are committed as its time says.
class CommitClocks {
 public:
  /// `workers` outlives this. `complete`: as for ReplayOrder.
  CommitClocks(ScriptCursors& workers, bool shared_clock, bool complete);

  bool shared() const { return shared_; }
  std::int64_t commits() const { return commits_; }  // so far, of all workers
  /// Throws BrokenScript if the worker's event is before its last, or after the end.
  void check_time(int worker) const;
  /// Whether the worker must wait with its event; it is woken as soon as it need not.
  bool waits(int worker);
  /// The number of the worker's event, a commit, by its clock. Throws BrokenScript.
  std::int64_t number(int worker) const;
  /// Counts that commit, which has been executed.
  void commit(std::int64_t number);
  /// Called when events of the run are missing, so that clocks count commits that never come: wakes
  /// all waiting workers. Returns false if none waits.
  bool break_off();

  /// A number of commits and the worker that waits for it; first_waiting() has the smallest number.
  using Waiting = std::pair<std::int64_t, int>;
  const Waiting* first_waiting() const { return waiting_.empty() ? nullptr : &waiting_.top(); }

 private:
  void wake(std::int64_t commits);

  ScriptCursors& workers_;
  const bool shared_;
  bool count_ = true;            // false once commits that clocks count may be missing
  double limit_ = 0;             // no event is later
  std::vector<bool> committed_;  // by commit number, for the commits in the script
  std::int64_t commits_ = 0;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
};

}  // namespace acid
