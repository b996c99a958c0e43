#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/terminal/table.hpp"
#include "reports/predicted.hpp"

namespace acid {

/// {"heading", "values", "inside", "scores": [{group, algorithm, label, settings
/// (the swept ones), quantity, every_evaluation, predicted, low, high, measured, error, inside,
/// values, crps}], "runs": [{run, seed, group, values: [{quantity, normalised_time, mean, low,
/// high, draws, measured, inside, crps}]}], "late", "altered", "without": [id], "notes": [text]}.
/// What is not finite is null.
nlohmann::json to_json(const Comparison& comparison, const PredictionScores& scores);
/// Every predicted value of every run, with all digits.
Table values_table(const Comparison& comparison, const PredictionScores& scores);
/// The scores by group and quantity, as people read them.
Table scores_table(const Comparison& comparison, const std::vector<ScoreRow>& rows);
std::string to_text(const Comparison& comparison, const PredictionScores& scores,
                    const TextLines& lines);
/// Throws UsageError if no finished run has a prediction that counts.
void require_scores(const PredictionScores& scores);

}  // namespace acid
