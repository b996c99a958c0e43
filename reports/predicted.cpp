#include "reports/predicted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "engine/base/names.hpp"
#include "reports/compare_formats.hpp"
#include "reports/read_at.hpp"
#include "reports/reading.hpp"

namespace acid {
namespace {

constexpr const char* kAbsent = "–";
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A run's own numbers where predictions ask for them.
class Measured {
 public:
  Measured(const Store& store, const RunSummary& run) : store_(store), run_(run) {}

  /// `is_last`: the value is predicted for the run's end, wherever that is.
  double of(const PredictedValue& value, bool is_last) {
    if (value.normalised_time) {
      const std::vector<SeriesPoint>& points = points_of(value.quantity);
      if (!is_last) return at(points, *value.normalised_time);
      return points.empty() ? kNone : points.back().value;
    }
    const Position& end = run_.progress;
    if (value.quantity == "seconds") return end.seconds;
    if (value.quantity == "bytes") return static_cast<double>(end.bytes);
    if (value.quantity == "iteration_seconds")
      return end.seconds * run_.workers / static_cast<double>(end.gradients);
    return kNone;
  }

 private:
  const std::vector<SeriesPoint>& points_of(const std::string& metric) {
    const auto [found, is_new] = series_.try_emplace(metric);
    if (is_new)
      for (Series& one : read_series(store_, run_.id, metric, /*whole_run_only=*/true))
        found->second = std::move(one.points);
    return found->second;
  }

  double at(const std::vector<SeriesPoint>& points, double time) const {
    const auto beyond = std::ranges::upper_bound(
        points, time, {}, [](const SeriesPoint& point) { return point.position.normalised_time; });
    SamplesAround around;
    std::reverse_copy(points.begin(), beyond, std::back_inserter(around.until));
    around.beyond.assign(beyond, points.end());
    const double end = run_.progress.normalised_time;
    // A prediction's place is a mean, and may be rounded.
    if (time > end * (1 + 1e-9)) return kNone;
    const auto read = read_between(around, PositionAxis::normalised_time, time, end);
    return read && read->value ? *read->value : kNone;
  }

  const Store& store_;
  const RunSummary& run_;
  std::map<std::string, std::vector<SeriesPoint>> series_;
};

double mean_of(const std::vector<const ScoredValue*>& values,
               const std::function<double(const ScoredValue&)>& of) {
  double sum = 0;
  for (const ScoredValue* const value : values) sum += of(*value);
  return sum / static_cast<double>(values.size());
}

ScoreRow row_of(std::size_t group, const std::string& quantity, bool every,
                const std::vector<const ScoredValue*>& values) {
  ScoreRow row{.group = group, .quantity = quantity, .every = every};
  row.values = static_cast<int>(values.size());
  row.inside = static_cast<int>(
      std::ranges::count_if(values, [](const ScoredValue* one) { return one->is_inside(); }));
  row.crps = mean_of(
      values, [](const ScoredValue& one) { return crps(one.predicted.draws, one.measured); });
  row.predicted = mean_of(values, [](const ScoredValue& one) { return one.predicted.mean; });
  row.low = mean_of(values, [](const ScoredValue& one) { return one.predicted.low; });
  row.high = mean_of(values, [](const ScoredValue& one) { return one.predicted.high; });
  row.measured = mean_of(values, [](const ScoredValue& one) { return one.measured; });
  if (every)
    row.error = mean_of(values, [](const ScoredValue& one) {
      return one.measured == one.predicted.mean ? 0.0
                                                : std::abs(one.predicted.mean / one.measured - 1);
    });
  else
    row.error = row.predicted == row.measured ? 0 : row.predicted / row.measured - 1;
  if (!std::isfinite(row.error)) row.error = kNone;
  return row;
}

// Whether no later place of the quantity was predicted.
bool is_last(const PredictedValue& value, const std::vector<PredictedValue>& values) {
  return std::ranges::none_of(values, [&](const PredictedValue& other) {
    return other.quantity == value.quantity && other.normalised_time > value.normalised_time;
  });
}

}  // namespace

double crps(std::span<const double> draws, double measured) {
  double distance = 0, spread = 0;
  for (const double one : draws) {
    distance += std::abs(one - measured);
    for (const double other : draws) spread += std::abs(one - other);
  }
  const auto n = static_cast<double>(draws.size());
  return distance / n - (n > 1 ? spread / (2 * n * (n - 1)) : 0);
}

PredictionScores score_predictions(const Store& store, const Comparison& comparison) {
  PredictionScores scores;
  for (std::size_t g = 0; g < comparison.groups.size(); ++g) {
    ScoredGroup group{.group = g, .made = {}, .experiment = {}, .values = {}};
    for (const RunSummary& run : comparison.groups[g].runs) {
      const auto prediction = prediction_of(store, run.id);
      if (!prediction || prediction->is_late) {
        (prediction ? scores.late : scores.without).push_back(run.id);
        continue;
      }
      if (group.made.empty()) {
        group.made = prediction->made;
        group.experiment = prediction->experiment;
      }
      Measured measured(store, run);
      for (const PredictedValue& value : prediction->values) {
        const bool last = is_last(value, prediction->values);
        if (const double found = measured.of(value, last); std::isfinite(found))
          group.values.push_back({run.id, run.seed, value, last, found});
      }
    }
    if (!group.values.empty()) scores.groups.push_back(std::move(group));
  }
  return scores;
}

std::vector<ScoreRow> score_rows(const Comparison& comparison, const PredictionScores& scores) {
  std::vector<std::string> quantities{"seconds", "bytes"};
  quantities.insert(quantities.end(), comparison.metrics.begin(), comparison.metrics.end());
  std::vector<ScoreRow> rows;
  for (const ScoredGroup& group : scores.groups) {
    std::set<std::string> done;
    for (const std::string& quantity : quantities) {
      if (!done.insert(quantity).second) continue;
      std::vector<const ScoredValue*> all, at_end;
      for (const ScoredValue& one : group.values) {
        if (one.predicted.quantity != quantity) continue;
        all.push_back(&one);
        if (one.is_last) at_end.push_back(&one);
      }
      if (!at_end.empty()) rows.push_back(row_of(group.group, quantity, false, at_end));
      if (all.size() > at_end.size()) rows.push_back(row_of(group.group, quantity, true, all));
    }
  }
  return rows;
}

std::string score_name(const ScoreRow& row) {
  if (row.every) return row.quantity + ", every evaluation";
  return row.quantity == "seconds" || row.quantity == "bytes" ? row.quantity
                                                              : row.quantity + " at the end";
}

std::vector<std::string> score_cells(const ScoreRow& row) {
  const auto shown = [&](double value) { return format_metric_value(row.quantity, value); };
  const std::string error = std::isnan(row.error) ? kAbsent
                            : row.every           ? fmt::format("{:.2g} %", 100 * row.error)
                                                  : fmt::format("{:+.2g} %", 100 * row.error);
  const std::string inside = fmt::format("{} of {}", row.inside, row.values);
  if (row.every) return {kAbsent, kAbsent, kAbsent, error, inside, shown(row.crps)};
  return {shown(row.predicted),
          fmt::format("{} to {}", shown(row.low), shown(row.high)),
          shown(row.measured),
          error,
          inside,
          shown(row.crps)};
}

std::vector<std::string> score_notes(const PredictionScores& scores) {
  std::vector<std::string> notes;
  std::size_t inside = 0, values = 0;
  std::string first, last;
  std::set<std::string> experiments;
  for (const ScoredGroup& group : scores.groups) {
    if (first.empty() || group.made < first) first = group.made;
    last = std::max(last, group.made);
    if (!group.experiment.empty()) experiments.insert(group.experiment);
    values += group.values.size();
    inside += static_cast<std::size_t>(std::ranges::count_if(
        group.values, [](const ScoredValue& one) { return one.is_inside(); }));
  }
  if (values > 0) {
    std::string from = "from the clock of the virtual driver alone";
    if (!experiments.empty())
      from =
          fmt::format("from simulated runs with other seeds (experiment {})", *experiments.begin());
    notes.push_back(fmt::format("predicted {}{} UTC, before these runs began, {}",
                                first == last ? "" : "up to ", last.substr(0, 19), from));
    notes.push_back(fmt::format(
        "{} of {} values ({:.0f} %) are inside their 90 % intervals; values of one run "
        "depend on each other",
        inside, values, 100.0 * static_cast<double>(inside) / static_cast<double>(values)));
    notes.push_back(
        "CRPS: how far the draws were from what was measured, in its unit, less half their own "
        "spread; 0 is best");
  }
  if (!scores.late.empty())
    notes.push_back(fmt::format(
        "{} said to be predicted after {} first attempt began (run {}): that is no prediction, and "
        "is left out",
        counted(scores.late.size(), "run"), scores.late.size() == 1 ? "its" : "their",
        scores.late.front()));
  if (!scores.without.empty())
    notes.push_back(fmt::format("{} not predicted", counted(scores.without.size(), "run")));
  return notes;
}

}  // namespace acid
