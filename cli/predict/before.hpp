#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "recipes/plan.hpp"
#include "store/queries.hpp"

namespace acid {

/// A recipe under the virtual driver, with seeds that no run of the recipe has. Predictions are
/// made from its runs.
struct SimulatedPlan {
  Plan plan;                                 // only the runs that are needed
  std::map<std::string, std::string> twins;  // by group of the recipe's runs: its group in `plan`
  bool is_executed = true;                   // false: only its clock runs
  std::set<std::string> untimed;  // groups of the recipe whose messages are simulated as those of
                                  // another model: neither seconds nor bytes are predicted
};

/// Runs that say execution.predict and have no prediction yet.
struct Unpredicted {
  std::set<std::string> ids;        // of those that have not begun
  std::vector<std::string> groups;  // theirs, each once
  std::size_t late = 0;             // how many have begun, so that they get none
};
/// `store` may be nullptr: nothing has begun.
Unpredicted unpredicted(const Store* store, const std::vector<const PlannedRun*>& runs);

/// The recipe with these overrides after its own.
using CompileWith = std::function<Plan(const std::vector<std::string>& overrides)>;

/// For these groups of a plan, whose runs say execution.predict. Throws RecipeError or UsageError
/// where the recipe cannot be simulated.
SimulatedPlan simulated_plan(const Plan& plan, const std::vector<std::string>& groups,
                             const CompileWith& compile);

/// The predictions of the runs, of groups that `simulated` knows: seconds and bytes, and each
/// metric of the mean model at every evaluation, or those metrics alone. Where runs are executed
/// they have ended, under this experiment. What one of them did not reach, or what is not finite,
/// is not predicted. Blocks while the clock runs.
std::vector<RunPrediction> predictions_of(const Store& store, const SimulatedPlan& simulated,
                                          const std::string& experiment,
                                          const std::vector<RunRecord>& runs);

}  // namespace acid
