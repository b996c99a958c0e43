#include "cli/predict/scores.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/compare_formats.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"
#include "reports/tags.hpp"

namespace acid {
namespace {

using nlohmann::json;

json settings_json(const Comparison& comparison, std::size_t group) {
  json settings = json::object();
  for (const ComparedPoint& point : comparison.points)
    if (std::ranges::find(point.groups, group) != point.groups.end())
      for (const auto& [key, value] : point.settings) settings[key] = value;
  return settings;
}

// Swept keys, in the order of the first setting.
std::vector<std::string> swept_keys(const Comparison& comparison) {
  std::vector<std::string> keys;
  if (comparison.points.size() > 1)
    for (const auto& [key, value] : comparison.points.front().settings) keys.push_back(key);
  return keys;
}

void add_group_columns(const Comparison& comparison, Table& table) {
  for (const std::string& key : swept_keys(comparison))
    table.columns.push_back({std::string(brief_key(key))});
  table.columns.push_back({"algorithm"});
}

std::vector<std::string> group_cells(const Comparison& comparison, std::size_t group,
                                     std::string (*text)(const json& value)) {
  std::vector<std::string> cells;
  const json settings = settings_json(comparison, group);
  for (const std::string& key : swept_keys(comparison))
    cells.push_back(text(settings.value(key, json())));
  cells.push_back(comparison.groups[group].label);
  return cells;
}

json json_of(const ScoredValue& value) {
  const PredictedValue& predicted = value.predicted;
  json one{{"quantity", predicted.quantity},
           {"normalised_time", nullptr},
           {"mean", predicted.mean},
           {"low", predicted.low},
           {"high", predicted.high},
           {"draws", predicted.draws},
           {"measured", value.measured},
           {"inside", value.is_inside()},
           {"crps", crps(predicted.draws, value.measured)}};
  if (predicted.normalised_time) one["normalised_time"] = *predicted.normalised_time;
  return one;
}

}  // namespace

void require_scores(const PredictionScores& scores) {
  if (!scores.groups.empty()) return;
  const std::size_t uncounted = scores.late.size() + scores.altered.size();
  if (uncounted > 0)
    throw UsageError(fmt::format("no prediction of these runs counts: {}",
                                 fmt::join(score_notes({}, scores), "; ")));
  throw UsageError(
      scores.without.empty()
          ? "none of these runs has finished, so no prediction can be scored"
          : "none of these runs was predicted: 'acid run --predict RECIPE' stores predictions, and "
            "only before the first gradient");
}

json to_json(const Comparison& comparison, const PredictionScores& scores) {
  const std::vector<ScoreRow> rows = score_rows(comparison, scores);
  json document{{"heading", comparison.heading},
                {"scores", json::array()},
                {"runs", json::array()},
                {"late", scores.late},
                {"without", scores.without},
                {"altered", scores.altered},
                {"notes", score_notes(rows, scores)}};
  for (const ScoreRow& row : rows) {
    const ComparedGroup& group = comparison.groups[row.group];
    json one{{"group", group.runs_group}, {"algorithm", group.algorithm},
             {"label", group.label},      {"settings", settings_json(comparison, row.group)},
             {"quantity", row.quantity},  {"every_evaluation", row.every},
             {"error", row.error},        {"inside", row.inside},
             {"values", row.values},      {"crps", row.crps}};
    if (!row.every)
      one.update({{"predicted", row.predicted},
                  {"low", row.low},
                  {"high", row.high},
                  {"measured", row.measured}});
    document["scores"].push_back(std::move(one));
  }
  for (const ScoredGroup& group : scores.groups) {
    for (const ScoredValue& value : group.values) {
      json& runs = document["runs"];
      if (runs.empty() || runs.back()["run"] != value.run)
        runs.push_back({{"run", value.run},
                        {"seed", value.seed},
                        {"group", comparison.groups[group.group].runs_group},
                        {"values", json::array()}});
      runs.back()["values"].push_back(json_of(value));
    }
  }
  std::tie(document["inside"], document["values"]) = inside_of(rows);
  return document;
}

Table values_table(const Comparison& comparison, const PredictionScores& scores) {
  Table table;
  add_group_columns(comparison, table);
  for (const char* const title : {"run", "seed", "quantity"}) table.columns.push_back({title});
  for (const char* const title :
       {"normalised_time", "mean", "low", "high", "measured", "inside", "crps"})
    table.columns.push_back(of_numbers(title));
  for (const ScoredGroup& group : scores.groups)
    for (const ScoredValue& value : group.values) {
      std::vector<std::string> cells = group_cells(comparison, group.group, &exact_text);
      const PredictedValue& predicted = value.predicted;
      cells.insert(cells.end(), {value.run, std::to_string(value.seed), predicted.quantity,
                                 csv_number(predicted.normalised_time)});
      for (const double number : {predicted.mean, predicted.low, predicted.high, value.measured})
        cells.push_back(csv_number(number));
      cells.push_back(value.is_inside() ? "true" : "false");
      cells.push_back(csv_number(crps(predicted.draws, value.measured)));
      table.rows.push_back(std::move(cells));
    }
  return table;
}

Table scores_table(const Comparison& comparison, const std::vector<ScoreRow>& rows) {
  Table table;
  add_group_columns(comparison, table);
  table.columns.push_back({"quantity"});
  for (const char* const title : kScoreTitles) table.columns.push_back(of_numbers(title));
  for (const ScoreRow& row : rows) {
    std::vector<std::string> cells = group_cells(comparison, row.group, &value_text);
    cells.push_back(score_name(row));
    for (std::string& cell : score_cells(row)) cells.push_back(std::move(cell));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string to_text(const Comparison& comparison, const PredictionScores& scores,
                    const TextLines& lines) {
  const std::vector<ScoreRow> rows = score_rows(comparison, scores);
  std::string text = wrapped(comparison.heading, lines.prose(), "  ") + "\n" +
                     tag_text(comparison.tagged, lines) + "\n" +
                     to_text(scores_table(comparison, rows), lines) + "\n";
  for (const std::string& note : score_notes(rows, scores))
    text += wrapped("note: " + note, lines.prose(), "  ") + "\n";
  return text;
}

}  // namespace acid
