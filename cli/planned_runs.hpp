#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "cli/processes/executor.hpp"
#include "recipes/plan.hpp"
#include "store/queries.hpp"

namespace acid {

/// A plan as a store keeps it: the experiment, and its runs in the plan's order. `command_line`:
/// the command that asked for it. `store`: gives the experiment's id (store/experiment_id.hpp);
/// nullptr: it is that of the recipe alone.
ExperimentRecord experiment_record(const Plan& plan, const std::string& command_line,
                                   const Store* store);
std::vector<RunRecord> run_records(const std::vector<PlannedRun>& runs, bool of_search = false);

/// The ids of the runs, planned or recorded, each once: a recipe may ask for the same run twice.
template <class Run>
std::vector<std::string> ids_of(const std::vector<Run>& runs) {
  std::vector<std::string> ids;
  std::unordered_set<std::string_view> known;
  for (const Run& run : runs)
    if (known.insert(run.id).second) ids.push_back(run.id);
  return ids;
}

struct Ended {
  Executed executed;
  std::size_t diverged = 0;  // before this command
};

/// Executes those of the runs that are not over, or all with executor.fresh, in the order and with
/// the parts of executor.share. `awaited`: other processes of this command, on other hosts, wait
/// for all of them.
Ended execute_runs(const ExecutorOptions& executor, const Store& store,
                   const std::vector<std::string>& ids, bool awaited);

}  // namespace acid
