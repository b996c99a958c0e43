#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/predict/answer.hpp"
#include "cli/terminal/table.hpp"

namespace acid {

/// {"name", "recipe_digest", "draws", "seeds", "predictions": [{algorithm, label,
/// name, group, settings, iteration_seconds {mean, low, high}, gradients_per_second, seconds,
/// bytes, gradients, idle_share, each with …_low and …_high, seconds_of_draws, closed_form_seconds,
/// simulated_iterations, budget_iterations}], "crossovers": [{key, value, low, high, from, to,
/// settings}], "left_out"}.
nlohmann::json to_json(const PredictedRecipe& answer);
/// The predictions with all digits.
Table exact_table(const PredictedRecipe& answer);
std::string to_text(const PredictedRecipe& answer);

}  // namespace acid
