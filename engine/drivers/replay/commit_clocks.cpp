#include "engine/drivers/replay/commit_clocks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace acid {

CommitClocks::CommitClocks(ScriptCursors& workers, bool shared_clock, bool complete)
    : workers_(workers),
      shared_(shared_clock),
      committed_(static_cast<std::size_t>(workers.gradients()) + 1) {
  // Where the script breaks off, commits of other workers that moved the clock may be missing.
  // Beyond 2⁵³ a double no longer distinguishes commits.
  limit_ = (complete ? static_cast<double>(workers.gradients()) : 0x1p53) / workers.size();
}

// Fails for a time that is not a number, too.
void CommitClocks::check_time(int worker) const {
  const ScriptCursors::Cursor& c = workers_.at(worker);
  const double time = c.event().time;
  if (!(time >= c.time))
    workers_.broken(
        worker, fmt::format("its time is {}, and that of the event before is {}", time, c.time));
  if (!(time <= limit_))
    workers_.broken(worker, fmt::format("its time is {}, and the run ends at {}", time, limit_));
}

// A worker's own clock counts the commits that it knows of. Executing an event that can be executed
// never rules out another, so if any order of the events suits all clocks, this finds one.
bool CommitClocks::waits(int worker) {
  if (shared_ || !count_) return false;
  ScriptCursors::Cursor& c = workers_.at(worker);
  const Event& event = c.event();
  std::int64_t others = 0;  // commits of other workers before this one
  if (is_commit(event.kind)) {
    others = number(worker) - 1;
  } else {
    others = std::llround(event.time * workers_.size());
    if (static_cast<double>(others) / workers_.size() < event.time) ++others;
  }
  if (others <= commits_) return false;
  c.state = ScriptCursors::State::at_clock;
  waiting_.push({others, worker});
  return true;
}

void CommitClocks::wake(std::int64_t commits) {
  for (; !waiting_.empty() && waiting_.top().first <= commits; waiting_.pop())
    workers_.wake(waiting_.top().second);
}

bool CommitClocks::break_off() {
  if (waiting_.empty()) return false;
  count_ = false;
  wake(std::numeric_limits<std::int64_t>::max());
  return true;
}

// Clocks count commits, so a commit's time is its number, unique where all workers share a clock.
std::int64_t CommitClocks::number(int worker) const {
  const double time = workers_.at(worker).event().time;
  const std::int64_t number = std::llround(time * workers_.size());
  if ((shared_ && number < 1) || static_cast<double>(number) / workers_.size() != time)
    workers_.broken(worker,
                    fmt::format("a gradient is committed at {}, which is no multiple of 1/{}", time,
                                workers_.size()));
  if (shared_ && static_cast<std::size_t>(number) < committed_.size() &&
      committed_[static_cast<std::size_t>(number)])
    workers_.broken(worker, fmt::format("two gradients are number {} of the run", number));
  return number;
}

void CommitClocks::commit(std::int64_t number) {
  if (static_cast<std::size_t>(number) < committed_.size())
    committed_[static_cast<std::size_t>(number)] = true;
  ++commits_;
  wake(commits_);
}

}  // namespace acid
