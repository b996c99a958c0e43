#pragma once

#include <string>
#include <vector>

#include "recipes/plan.hpp"
#include "store/store.hpp"

namespace acid {

/// A plan as the store keeps it: the experiment, and its runs in the plan's order. `command_line`:
/// the command that asked for it.
ExperimentRecord experiment_record(const Plan& plan, const std::string& command_line);
std::vector<RunRecord> run_records(const std::vector<PlannedRun>& runs, bool of_search = false);

}  // namespace acid
