#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/predict/race.hpp"
#include "recipes/over.hpp"
#include "recipes/plan.hpp"

namespace acid {

/// An algorithm at a setting, which includes the value of the axis, if there is one.
struct PredictedRow {
  const PlannedCell* cell;
  nlohmann::json settings;
  std::string name;
  const PlannedRun* run;
  Prediction prediction;
};

/// All that `acid predict` prints.
struct PredictedRecipe {
  Effort effort;
  Plan plan;
  std::optional<OverAxis> axis;
  std::vector<std::uint64_t> seeds;  // of the draws
  std::vector<PredictedRow> rows;
  std::vector<std::pair<nlohmann::json, Race>> races;  // by setting without the axis
};

/// The recipe with such a further axis; nullptr: with none.
using Compile = std::function<Plan(const OverAxis* over)>;

/// Compiles the recipe, predicts all of it, and looks closer where the verdict changes. Shows its
/// progress on standard error. `prepare`: called with the plan before that.
void predict(const Compile& compile, const std::function<void(const Plan&)>& prepare,
             PredictedRecipe& answer);

}  // namespace acid
