#include "cli/predict/answer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/run_json.hpp"
#include "engine/methods/common_fields.hpp"
#include "reports/realised_rate.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

using nlohmann::json;

// Most values that are added to one setting, in all and in one step. After each step the cost is
// looked at.
constexpr std::size_t kMostAdded = 400, kAddedAtOnce = 50;

// " communication_rate 2": what sets the run apart from these of its name.
std::string choices_of(const PlannedRun& run, const std::vector<const PlannedRun*>& namesakes) {
  std::vector<FlatSettings> all;
  for (const PlannedRun* one : namesakes) all.push_back(flatten(one->settings));
  const FlatSettings own = flatten(run.settings);
  std::vector<std::string> words;
  for (const std::string& key : varying_keys(all)) {
    if (!is_algorithm_key(key)) continue;
    const std::string name = key.substr(key.find('.') + 1);
    // The rate that saturates the network is another one at each value of an axis.
    if (name == kCommunicationRateField.name && saturates(run.settings)) continue;
    if (!run.numbers.contains(name) && !value_at(own, key).is_null())
      words.push_back(fmt::format("{} {}", name, value_text(value_at(own, key))));
  }
  return words.empty() ? "" : fmt::format(" {}", fmt::join(words, ", "));
}

// By [[algorithms]] entry. Those of one name say what they differ in.
using Names = std::map<std::size_t, std::string>;
Names names_of(const Plan& plan) {
  std::map<std::size_t, const PlannedRun*> first;
  for (const PlannedCell& cell : plan.cells)
    first.try_emplace(cell.algorithm, &run_of(plan, cell.group));
  std::map<std::string, std::vector<const PlannedRun*>> by_name;
  for (const auto& [index, run] : first)
    by_name[shown_name(run->algorithm, run->label)].push_back(run);
  Names names;
  for (const auto& [index, run] : first) {
    std::string& name = names[index] = shown_name(run->algorithm, run->label);
    if (const auto& namesakes = by_name.at(name); namesakes.size() > 1)
      name += choices_of(*run, namesakes);
  }
  return names;
}

/// `names`: of the recipe's plan, also where this one has other values of the axis.
std::vector<PredictedRow> rows_of(const Plan& plan, const OverAxis* axis, const Names& names,
                                  Predictor& predictor) {
  ReadingProgress progress("predicted");
  std::vector<PredictedRow> rows;
  for (const PlannedCell& cell : plan.cells) {
    if (!names.contains(cell.algorithm)) continue;
    json settings = cell.settings;
    if (axis != nullptr) settings[axis->key] = axis->values[cell.value];
    rows.push_back({&cell, std::move(settings), names.at(cell.algorithm), &run_of(plan, cell.group),
                    predictor.of(plan, cell.group)});
    progress.show(rows.size(), plan.cells.size());
  }
  return rows;
}

std::optional<Range> time_of(const Prediction& prediction) {
  const Range& time = prediction.iteration_seconds;
  return std::isfinite(time.low) ? std::optional(time) : std::nullopt;
}

/// Adds the rows' times to the race of their setting: new points, with all of its algorithms.
void add_points(const std::vector<PredictedRow>& rows, const OverAxis& axis, const json& setting,
                bool asked, Race& race) {
  for (const double value : axis.values) {
    Race::Point point{value, std::vector<std::optional<Range>>(race.names.size()), asked};
    for (const PredictedRow& row : rows)
      if (row.cell->settings == setting && row.settings[axis.key] == value)
        if (const auto at = std::ranges::find(race.names, row.name); at != race.names.end())
          point.times[static_cast<std::size_t>(at - race.names.begin())] = time_of(row.prediction);
    race.points.push_back(std::move(point));
  }
  std::ranges::sort(race.points, {}, &Race::Point::value);
}

std::vector<std::pair<json, Race>> races_of(const std::vector<PredictedRow>& rows,
                                            const OverAxis& axis) {
  std::vector<std::pair<json, Race>> races;
  for (const PredictedRow& row : rows) {
    auto found = std::ranges::find(races, row.cell->settings, &std::pair<json, Race>::first);
    if (found == races.end()) {
      races.emplace_back(
          row.cell->settings,
          Race{.names = {}, .points = {}, .logarithmic = axis.logarithmic, .step = axis.step});
      found = races.end() - 1;
    }
    auto& names = found->second.names;
    if (std::ranges::find(names, row.name) == names.end()) names.push_back(row.name);
  }
  for (auto& [setting, race] : races) add_points(rows, axis, setting, true, race);
  return races;
}

/// Looks closer where the verdict changes. Equal ones count as one.
void refine(const Compile& compile, const OverAxis& axis, const Names& names, const json& setting,
            Predictor& predictor, Race& race) {
  std::size_t left = kMostAdded;
  std::set<double> idle;  // values at which nothing runs
  for (;;) {
    OverAxis finer = axis;
    Race joined = race;
    joined.join_equal();
    finer.values = values_to_add(joined, [&](double value) { return axis.rounded(value); });
    std::erase_if(finer.values, [&](double value) { return idle.contains(value); });
    race.coarse = !finer.values.empty() && (left == 0 || !predictor.is_quick());
    if (finer.values.empty() || race.coarse) return;
    finer.values.resize(std::min({finer.values.size(), left, kAddedAtOnce}));
    left -= finer.values.size();
    std::vector<PredictedRow> rows;
    Plan plan;  // to whose cells rows point
    try {
      plan = compile(&finer);
      std::erase_if(plan.cells, [&](const PlannedCell& one) { return one.settings != setting; });
      rows = rows_of(plan, &finer, names, predictor);
    } catch (const RecipeError&) {
      // Nothing runs at any of these values, as with 17 workers in a hypercube.
    }
    add_points(rows, finer, setting, false, race);
    std::erase_if(race.points, [&](const Race::Point& point) {
      const bool runs = std::ranges::any_of(point.times, [](const auto& time) { return !!time; });
      if (!runs && !point.asked) idle.insert(point.value);
      return !runs && !point.asked;
    });
  }
}

}  // namespace

void predict(const Compile& compile, const std::function<void(const Plan&)>& prepare,
             PredictedRecipe& answer) {
  const OverAxis* const axis = answer.axis ? &*answer.axis : nullptr;
  answer.plan = compile(axis);
  prepare(answer.plan);
  Predictor predictor(answer.effort, answer.plan.seeds);
  answer.seeds = predictor.seeds();
  predictor.size(answer.plan);
  const Names names = names_of(answer.plan);
  answer.rows = rows_of(answer.plan, axis, names, predictor);
  if (axis == nullptr) return;
  answer.races = races_of(answer.rows, *axis);
  for (auto& [setting, race] : answer.races) {
    refine(compile, *axis, names, setting, predictor, race);
    race.join_equal();
  }
}

}  // namespace acid
