#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/drivers/replay/commit_clocks.hpp"
#include "engine/drivers/replay/script_cursors.hpp"

namespace acid {

/// The order of a script's events where the method has a server: every worker walks through the
/// round, and messages arrive in the order of their numbers. Times order nothing.
class Arrivals {
 public:
  /// The arguments outlive this.
  Arrivals(const RunSpec& spec, ScriptCursors& workers, CommitClocks& clocks)
      : spec_(spec), workers_(workers), clocks_(clocks), walks_(workers.all().size()) {}

  /// The step of the worker's event, which is no mark. Nothing if other messages arrive first.
  /// Throws BrokenScript.
  std::optional<ReplayStep> step_of(int worker);
  std::int64_t count() const { return count_; }  // so far
  /// Called when no worker can go on: lets a worker arrive next whose events break off before they
  /// have the whole number. Returns false if no worker fits.
  bool let_go();

 private:
  struct Walk {
    std::int64_t leg = 0, phase = 0;  // the part of the round that comes next
    std::int64_t arrival = 0;         // number of the worker's last message, from 1
    bool has_gradient = false;        // a gradient has been computed
  };
  bool arrive(int worker, ReplayStep& step);
  static std::optional<std::uint64_t> number_of(const ScriptCursors::Cursor& offer);

  const RunSpec& spec_;
  ScriptCursors& workers_;
  CommitClocks& clocks_;
  std::vector<Walk> walks_;
  std::int64_t count_ = 0;
  std::map<std::uint64_t, int> waiting_;  // workers, by the number they wait for
  std::vector<int> unnumbered_;           // workers with only the lowest bits of their number known
  int let_go_ = -1;                       // the one of these that arrives next
};

}  // namespace acid
