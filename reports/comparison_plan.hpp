#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/notes.hpp"
#include "store/queries.hpp"

namespace acid {

/// A difference that does not matter.
struct Margin {
  double value = 0;       // above 0, in the metric's unit or a share of the baseline's value
  bool relative = false;  // a share
  /// Of a pair whose baseline has this value.
  double of(double baseline) const;
  /// "0.01", "2 %".
  std::string words() const;
  bool operator==(const Margin&) const = default;
};

/// What a recipe's [comparison] says, chosen before the data. Empty where it does not say.
struct ComparisonPlan {
  std::string primary;                         // outcome that the verdict is about
  std::string consensus_baseline;              // label or algorithm
  std::map<std::string, Margin> margins = {};  // by outcome
  /// What an earlier recipe said instead, when some of the runs had ended already; empty: nothing.
  std::string before = {};
  bool operator==(const ComparisonPlan&) const = default;
};

/// Of ExperimentRecord::comparison. StoreError where it is not what acid writes.
ComparisonPlan comparison_plan_from(const nlohmann::json& document);
/// Of the experiments of these runs, each once.
std::vector<ComparisonPlan> comparison_plans_of(const Store& store,
                                                const std::vector<RunSummary>& runs);
/// What all of them say; where they do not say the same, nothing, and a note.
ComparisonPlan agreed_plan(const std::vector<ComparisonPlan>& plans,
                           std::vector<ComparedNote>& notes);

}  // namespace acid
