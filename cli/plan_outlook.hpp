#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/predict/before.hpp"
#include "cli/recipe_options.hpp"
#include "recipes/plan.hpp"
#include "store/queries.hpp"

namespace acid {

/// A run that `acid run` would execute, or has executed.
struct ExpectedRun {
  const PlannedRun* plan = nullptr;
  std::optional<RunSummary> stored;  // absent: the store does not have it
  std::string host;                  // that executes it; empty: none

  RunState state() const { return stored ? stored->state : RunState::planned; }
  bool is_over() const { return acid::is_over(state()); }
  /// The share of its work that is done, 0 to 1.
  double fraction() const;
  /// "finished", "interrupted at 40 %", "running on node3 at 12 %", "to do".
  std::string state_words() const;
  /// {"state", "fraction", "host"}.
  nlohmann::json to_json() const;
};

/// What a store has of the runs of a plan: those of its search, those that will be compared, and
/// those that are simulated to predict them. Each once; the plan must outlive it.
class Outlook {
 public:
  /// `store`: null where there is none. `recipe`: compiled again where runs are predicted.
  Outlook(const Plan& plan, const RecipeOptions& recipe, const Store* store);

  const std::vector<ExpectedRun>& runs() const { return runs_; }
  /// One of Plan::runs.
  const ExpectedRun& of(const PlannedRun& run) const;
  /// Whether the store has begun any of them.
  bool has_begun() const;
  /// "60 runs: 22 finished, 1 running on node3, 37 to do".
  std::string words() const;
  /// By the name of each state that occurs, how many.
  nlohmann::json states() const;

 private:
  void add(const Store* store, const std::vector<const PlannedRun*>& runs);
  /// Those of the runs whose values will go on, as far as it is known which.
  std::vector<const PlannedRun*> going_on(const std::vector<PlannedRun>& runs,
                                          const std::vector<std::vector<std::string>>& cells,
                                          std::size_t values, const Store* store) const;
  std::optional<SimulatedPlan> simulated(const Plan& plan, const RecipeOptions& recipe,
                                         std::vector<const PlannedRun*> runs,
                                         const Store* store) const;

  std::optional<SimulatedPlan> simulated_;
  std::vector<ExpectedRun> runs_;
  std::map<std::string, std::size_t> places_;  // of each run's id
};

}  // namespace acid
