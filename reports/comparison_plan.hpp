#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/notes.hpp"
#include "store/queries.hpp"

namespace acid {

/// A cell of a sweep of which nothing runs, as ExperimentRecord::comparison has it.
struct LeftOutCell {
  std::string label;
  nlohmann::json settings;  // swept values by dotted key
  std::string reason;
  bool operator==(const LeftOutCell&) const = default;
};
/// Reads what to_json(Plan::left_out) wrote; null: none. StoreError or json::exception for anything
/// else.
std::vector<LeftOutCell> left_out_from(const nlohmann::json& list);
/// One text for each algorithm and reason: "D² at topology.kind ring, star: d2 needs …". If there
/// are many settings, their number stands there instead.
std::vector<std::string> left_out_words(const std::vector<LeftOutCell>& cells);

/// The size of a difference that does not matter.
struct Margin {
  double value = 0;       // above 0, in the metric's unit or a share of the baseline's value
  bool relative = false;  // a share
  /// The margin of a pair whose baseline has this value.
  double of(double baseline) const;
  /// "0.01", "2 %".
  std::string words() const;
  bool operator==(const Margin&) const = default;
};

/// A recipe's [comparison] and what its sweep leaves out, known before the data. Members that it
/// does not set are empty.
struct ComparisonPlan {
  std::string primary;                         // outcome that the verdict is about
  std::string consensus_baseline;              // label or algorithm
  std::map<std::string, Margin> margins = {};  // by outcome
  /// The plan of an earlier recipe, if some of the runs had ended when it changed; else empty.
  std::string before = {};
  std::vector<LeftOutCell> left_out = {};  // cells of the sweep without runs
  bool operator==(const ComparisonPlan&) const = default;
};

/// The plan in ExperimentRecord::comparison. StoreError if acid did not write it like that.
ComparisonPlan comparison_plan_from(const nlohmann::json& document);
/// The plans of the experiments of these runs, each once.
std::vector<ComparisonPlan> comparison_plans_of(const Store& store,
                                                const std::vector<RunSummary>& runs);
/// What all of them say; where they differ, nothing, and a note.
ComparisonPlan agreed_plan(const std::vector<ComparisonPlan>& plans,
                           std::vector<ComparedNote>& notes);

}  // namespace acid
