#include "cli/predict/before.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/predict/prediction.hpp"
#include "cli/terminal/progress.hpp"
#include "engine/recorder/metrics.hpp"
#include "reports/predicted.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

constexpr std::size_t kClockDraws = 10;

std::vector<std::uint64_t> other_seeds(const Plan& plan, std::size_t count) {
  std::set<std::uint64_t> taken(plan.seeds.begin(), plan.seeds.end());
  if (plan.search) taken.insert(plan.search->seeds.begin(), plan.search->seeds.end());
  return further_seeds(std::move(taken), count);
}

// By group of one plan, the group of the other at the same place.
std::map<std::string, std::string> twins_of(const Plan& plan, const Plan& simulated) {
  std::map<std::string, std::string> twins;
  bool alike = plan.cells.size() == simulated.cells.size();
  for (std::size_t i = 0; alike && i < plan.cells.size(); ++i) {
    const PlannedCell &one = plan.cells[i], &twin = simulated.cells[i];
    alike = one.settings == twin.settings && one.algorithm == twin.algorithm;
    twins[one.group] = twin.group;
  }
  if (plan.search) alike = alike && plan.search->cells.size() == simulated.search->cells.size();
  for (std::size_t i = 0; alike && plan.search && i < plan.search->cells.size(); ++i) {
    const auto &values = plan.search->cells[i], &others = simulated.search->cells[i];
    alike = values.size() == others.size();
    for (std::size_t k = 0; alike && k < values.size(); ++k) twins[values[k]] = others[k];
  }
  if (!alike)
    throw UsageError(
        "the recipe cannot be predicted: under the virtual driver its sweep or search has other "
        "cells; run it without --predict and execution.predict");
  return twins;
}

/// What a run ended with, and its evaluations.
struct Simulation {
  std::optional<double> seconds, bytes, iteration_seconds;
  std::map<std::string, std::vector<SeriesPoint>> evaluations;  // by metric
};

Simulation read_simulation(const Store& store, const RunSummary& run) {
  Simulation found;
  if (run.state == RunState::finished) {
    found.seconds = run.progress.seconds;
    found.bytes = static_cast<double>(run.progress.bytes);
    if (run.progress.gradients > 0) found.iteration_seconds = iteration_seconds(run);
  }
  for (Series& series : read_series(store, run.id, {}, /*whole_run_only=*/true))
    if (const Metric* const metric = find_metric(series.metric);
        metric != nullptr && (metric->of == MetricOf::mean || metric->of == MetricOf::held_out))
      found.evaluations[series.metric] = std::move(series.points);
  return found;
}

// Nothing where a draw is not finite.
void add_value(const std::string& quantity, std::optional<double> time,
               const std::vector<double>& draws, std::vector<PredictedValue>& values) {
  for (const double draw : draws)
    if (!std::isfinite(draw)) return;
  const Range range = time ? range_of(draws) : positive_range_of(draws);
  values.push_back({quantity, time, range.mean, range.low, range.high, draws});
}

// Evaluations are at equal places but for the last one, which is that of a run's end, wherever it
// is. Where a run diverged there is no end to predict.
void add_evaluations(const std::string& metric, const std::vector<Simulation>& draws,
                     std::vector<PredictedValue>& values) {
  std::vector<const std::vector<SeriesPoint>*> series;
  for (const Simulation& one : draws)
    if (const auto found = one.evaluations.find(metric);
        found != one.evaluations.end() && !found->second.empty())
      series.push_back(&found->second);
  if (series.size() < draws.size()) return;
  std::size_t fewest = series.front()->size();
  for (const auto* const one : series) fewest = std::min(fewest, one->size());
  const bool have_ends =
      std::ranges::all_of(draws, [](const Simulation& one) { return one.seconds.has_value(); });
  for (std::size_t k = 0; k < fewest; ++k) {
    std::vector<double> all;
    double time = 0;
    for (const auto* const one : series) {
      const SeriesPoint& point = have_ends && k + 1 == fewest ? one->back() : (*one)[k];
      all.push_back(point.value);
      time += point.position.normalised_time;
    }
    add_value(metric, time / static_cast<double>(draws.size()), all, values);
  }
}

std::vector<PredictedValue> values_from(const Prediction& prediction) {
  std::vector<PredictedValue> values;
  for (const auto& [name, range] : {std::pair("seconds", &prediction.seconds),
                                    std::pair("iteration_seconds", &prediction.iteration_seconds),
                                    std::pair("bytes", &prediction.bytes)})
    // The clock does not know when a target is reached.
    if (std::isfinite(range->low) &&
        (!prediction.has_target || range == &prediction.iteration_seconds))
      values.push_back({name, {}, range->mean, range->low, range->high, range->draws});
  return values;
}

std::vector<PredictedValue> values_from(const std::vector<Simulation>& draws) {
  std::vector<PredictedValue> values;
  const std::pair<const char*, std::optional<double> Simulation::*> totals[]{
      {"seconds", &Simulation::seconds},
      {"iteration_seconds", &Simulation::iteration_seconds},
      {"bytes", &Simulation::bytes}};
  for (const auto& [name, member] : totals) {
    std::vector<double> all;
    for (const Simulation& one : draws)
      if (const auto& total = one.*member) all.push_back(*total);
    if (all.size() == draws.size()) add_value(name, {}, all, values);
  }
  for (const auto& [metric, evaluations] : draws.front().evaluations)
    add_evaluations(metric, draws, values);
  return values;
}

}  // namespace

Unpredicted unpredicted(const Store* store, const std::vector<const PlannedRun*>& runs) {
  RunFilter known;
  for (const PlannedRun* run : runs) known.ids.push_back(run->id);
  std::set<std::string> begun;
  if (store != nullptr && !known.ids.empty())
    for (const RunSummary& run : list_runs(*store, known))
      if (run.state != RunState::planned) begun.insert(run.id);
  Unpredicted found;
  for (const PlannedRun* run : runs) {
    if (!settings_from(run->settings).execution.predict) continue;
    if (store != nullptr && prediction_of(*store, run->id)) continue;
    if (begun.contains(run->id)) {
      ++found.late;
      continue;
    }
    found.ids.insert(run->id);
    if (std::ranges::find(found.groups, run->group) == found.groups.end())
      found.groups.push_back(run->group);
  }
  return found;
}

SimulatedPlan simulated_plan(const Plan& plan, const std::vector<std::string>& groups,
                             const CompileWith& compile) {
  std::size_t runs = 0;
  std::set<std::string> untimed;
  for (const PlannedRun& run : plan.compared()) {
    if (std::ranges::find(groups, run.group) == groups.end()) continue;
    const RunSettings settings = settings_from(run.settings);
    runs = std::max(runs, static_cast<std::size_t>(settings.execution.predict_runs));
    if (sends_own_vectors(settings, run.parameters)) untimed.insert(run.group);
  }
  const auto seeds = other_seeds(plan, runs > 0 ? runs : kClockDraws);
  SimulatedPlan simulated{.plan = compile({"execution.driver=virtual",
                                           fmt::format("seeds=[{}]", fmt::join(seeds, ","))}),
                          .twins = {},
                          .is_executed = runs > 0,
                          .untimed = std::move(untimed)};
  const auto twins = twins_of(plan, simulated.plan);
  const auto& twin_runs = simulated.plan.compared();
  if (const auto real =
          std::ranges::find_if(twin_runs,
                               [](const PlannedRun& run) {
                                 return !settings_from(run.settings).execution.entry().simulates;
                               });
      real != twin_runs.end())
    throw UsageError(fmt::format(
        "the recipe cannot be predicted: a sweep or an algorithm's 'set' chooses {} as its driver, "
        "and a prediction is simulated; set execution.driver once, in [execution]",
        settings_from(real->settings).execution.entry().name));
  std::set<std::string> wanted;
  for (const std::string& group : groups) wanted.insert(simulated.twins[group] = twins.at(group));
  Plan& own = simulated.plan;
  if (own.search) own.runs = std::move(own.search->finals);
  own.search.reset();
  std::erase_if(own.runs, [&](const PlannedRun& run) { return !wanted.contains(run.group); });
  own.cells.clear();
  for (const std::string& group : wanted) own.cells.push_back({.settings = {}, .group = group});
  own.name = plan.name + ".predicted";
  return simulated;
}

std::vector<RunPrediction> predictions_of(const Store& store, const SimulatedPlan& simulated,
                                          const std::string& experiment,
                                          const std::vector<RunRecord>& runs) {
  std::map<std::string, std::vector<PredictedValue>> values;
  if (simulated.is_executed) {
    std::map<std::string, std::vector<Simulation>> draws;
    for (const PlannedRun& run : simulated.plan.runs)
      draws[run.group].push_back(read_simulation(store, run_summaries(store, {run.id}).front()));
    for (const auto& [group, twin] : simulated.twins) values[group] = values_from(draws.at(twin));
  } else {
    ReadingProgress progress("predicted");
    Predictor predictor({.draws = kClockDraws, .iterations = {}}, simulated.plan.seeds);
    predictor.size(simulated.plan);
    for (const auto& [group, twin] : simulated.twins) {
      values[group] = values_from(predictor.of(simulated.plan, twin));
      progress.show(values.size(), simulated.twins.size());
    }
  }
  for (const std::string& group : simulated.untimed)
    std::erase_if(values[group],
                  [](const PredictedValue& value) { return !value.normalised_time; });
  std::vector<RunPrediction> predictions;
  for (const RunRecord& run : runs)
    if (const auto found = values.find(run.group); found != values.end() && !found->second.empty())
      predictions.push_back(
          {run.id, simulated.is_executed ? experiment : std::string(), found->second});
  return predictions;
}

}  // namespace acid
