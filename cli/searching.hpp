#pragma once

#include <optional>
#include <vector>

#include "cli/processes/executor.hpp"
#include "recipes/plan.hpp"
#include "reports/selection.hpp"
#include "store/at_work.hpp"

namespace acid {

/// What has become of a plan's search.
struct Searched {
  Exit exit = Exit::ok;
  std::optional<Selection> selection;  // once all of its runs are over
  std::vector<RunRecord> tried;        // in all rungs so far
};

/// Executes the runs of a plan's search rung by rung, and chooses. A grid is one rung. What the
/// best of a rung are follows from its runs, so the same command makes the same choices again.
Searched search(const Plan& plan, const ExperimentRecord& experiment,
                const ExecutorOptions& executor, AtWork& at_work);

}  // namespace acid
