#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/drivers/replay/commit_clocks.hpp"
#include "engine/drivers/replay/replay_step.hpp"
#include "engine/drivers/replay/script_cursors.hpp"

namespace acid {

/// The order of a script's events where the method has a server: every worker walks through the
/// round, and what they say arrives in the order of its numbers. Their times order nothing.
class Arrivals {
 public:
  /// All outlive it.
  Arrivals(const RunSpec& spec, ScriptCursors& workers, CommitClocks& clocks)
      : spec_(spec), workers_(workers), clocks_(clocks), walks_(workers.all().size()) {}

  /// The worker's event, which is no mark. Nothing where others arrive first. Throws BrokenScript.
  std::optional<ReplayStep> step_of(int worker);
  std::int64_t count() const { return count_; }  // so far
  /// Where nobody can go on: the next to arrive may be somebody whose events break off before they
  /// have the whole number. False where nobody fits.
  bool let_go();

 private:
  struct Walk {
    std::int64_t leg = 0, phase = 0;  // it comes to that
    std::int64_t arrival = 0;         // of its last message, from 1
    bool has_gradient = false;        // one has been computed
  };
  bool arrive(int worker, ReplayStep& step);
  static std::optional<std::uint64_t> number_of(const ScriptCursors::Cursor& offer);

  const RunSpec& spec_;
  ScriptCursors& workers_;
  CommitClocks& clocks_;
  std::vector<Walk> walks_;
  std::int64_t count_ = 0;
  std::map<std::uint64_t, int> waiting_;  // workers, by the number that they wait for
  std::vector<int> unnumbered_;           // workers of whose number only the lowest bits are known
  int let_go_ = -1;                       // of these, the one that is next
};

}  // namespace acid
