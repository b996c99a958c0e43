#include "reports/predicted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "engine/base/names.hpp"
#include "reports/compare_formats.hpp"
#include "reports/numbers.hpp"
#include "reports/reading.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr const char* kIterationSeconds = "iteration_seconds";
constexpr double kRounded = 1e-9;
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
    if (value.quantity == kIterationSeconds) return iteration_seconds(run_);
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

double mean_size_of_errors(const std::vector<const ScoredValue*>& values) {
  std::vector<const ScoredValue*> nonzero;
  std::ranges::copy_if(values, std::back_inserter(nonzero),
                       [](const ScoredValue* one) { return one->measured != 0; });
  return nonzero.empty() ? kNone : mean_of(nonzero, [](const ScoredValue& one) {
    return std::abs(one.predicted.mean / one.measured - 1);
  });
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
  row.error = every ? mean_size_of_errors(values) : row.predicted / row.measured - 1;
  if (std::abs(row.error) < kRounded) row.error = 0;
  if (!std::isfinite(row.error)) row.error = kNone;
  return row;
}

/// Where the run's end was predicted, by metric. Without seconds it was not: some simulated runs
/// had no end.
std::map<std::string, double> ends_of(const RunPrediction& prediction) {
  std::map<std::string, double> ends;
  if (std::ranges::find(prediction.values, "seconds", &PredictedValue::quantity) ==
      prediction.values.end())
    return ends;
  for (const PredictedValue& value : prediction.values)
    if (value.normalised_time) ends[value.quantity] = *value.normalised_time;
  return ends;
}

void score_run(const Store& store, const RunSummary& run, const RunPrediction& prediction,
               ScoredGroup& group) {
  const std::map<std::string, double> ends = ends_of(prediction);
  Measured measured(store, run);
  for (const PredictedValue& value : prediction.values) {
    const auto end = ends.find(value.quantity);
    const bool last =
        !value.normalised_time || (end != ends.end() && *value.normalised_time == end->second);
    if (const double found = measured.of(value, last); std::isfinite(found))
      group.values.push_back({run.id, run.seed, value, last, found});
  }
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

double iteration_seconds(const RunSummary& run) {
  return run.progress.seconds * run.workers / static_cast<double>(run.progress.gradients);
}

PredictionScores score_predictions(const Store& store, const Comparison& comparison) {
  PredictionScores scores;
  for (std::size_t g = 0; g < comparison.groups.size(); ++g) {
    ScoredGroup group{.group = g, .values = {}};
    scores.diverged += static_cast<int>(comparison.groups[g].diverged.size());
    for (const RunSummary& run : comparison.groups[g].runs) {
      const auto prediction = prediction_of(store, run.id);
      if (!prediction) {
        scores.without.push_back(run.id);
      } else if (prediction->is_late || prediction->is_altered) {
        (prediction->is_late ? scores.late : scores.altered).push_back(run.id);
      } else {
        scores.made.push_back(prediction->made);
        ++scores.origins[prediction->experiment];
        score_run(store, run, *prediction, group);
      }
    }
    if (!group.values.empty()) scores.groups.push_back(std::move(group));
  }
  std::ranges::sort(scores.made);
  return scores;
}

std::vector<ScoreRow> score_rows(const Comparison& comparison, const PredictionScores& scores) {
  std::vector<std::string> quantities{"seconds", kIterationSeconds, "bytes"};
  quantities.insert(quantities.end(), comparison.metrics.begin(), comparison.metrics.end());
  std::vector<ScoreRow> rows;
  for (const ScoredGroup& group : scores.groups) {
    std::set<std::string> done;
    for (const std::string& quantity : quantities) {
      // They say the same where both were predicted.
      if (quantity == kIterationSeconds && done.contains("seconds")) continue;
      std::vector<const ScoredValue*> all, at_end;
      for (const ScoredValue& one : group.values) {
        if (one.predicted.quantity != quantity) continue;
        if (!one.predicted.normalised_time || *one.predicted.normalised_time > 0)
          all.push_back(&one);
        if (one.is_last) at_end.push_back(&one);
      }
      if (all.empty() || !done.insert(quantity).second) continue;
      if (!at_end.empty()) rows.push_back(row_of(group.group, quantity, false, at_end));
      if (all.size() > at_end.size()) rows.push_back(row_of(group.group, quantity, true, all));
    }
  }
  return rows;
}

std::string score_name(const ScoreRow& row) {
  if (row.every) return row.quantity + ", every evaluation";
  if (row.quantity == kIterationSeconds) return "seconds per iteration";
  return row.quantity == "seconds" || row.quantity == "bytes" ? row.quantity
                                                              : row.quantity + " at the end";
}

std::vector<std::string> score_cells(const ScoreRow& row) {
  const bool timed = row.quantity == kIterationSeconds;
  const auto shown = [&](double value) {
    return format_metric_value(timed ? "seconds" : row.quantity, value);
  };
  const std::string error = std::isnan(row.error) ? std::string(kNoValue)
                            : row.every           ? format_percent(row.error)
                            : row.error < 0       ? format_percent(row.error)
                                                  : "+" + format_percent(row.error);
  const std::string inside = fmt::format("{} of {}", row.inside, row.values);
  if (row.every)
    return {std::string(kNoValue), std::string(kNoValue), std::string(kNoValue), error, inside,
            shown(row.crps)};
  return {shown(row.predicted),
          fmt::format("{} to {}", shown(row.low), shown(row.high)),
          shown(row.measured),
          error,
          inside,
          shown(row.crps)};
}

std::pair<int, int> inside_of(const std::vector<ScoreRow>& rows) {
  int inside = 0, values = 0;
  for (const ScoreRow& row : rows) {
    // Those at the end are among those of every evaluation.
    const bool again = !row.every && std::ranges::any_of(rows, [&](const ScoreRow& other) {
      return other.every && other.group == row.group && other.quantity == row.quantity;
    });
    if (again) continue;
    inside += row.inside;
    values += row.values;
  }
  return {inside, values};
}

namespace {

// "2026-11-27 09:06:34".
std::string date_text(std::string date) {
  date = date.substr(0, std::string_view("2026-11-27T09:06:34").size());
  std::ranges::replace(date, 'T', ' ');
  return date;
}

std::string origin_words(const std::map<std::string, int>& origins) {
  std::vector<std::string> words;
  for (const auto& [experiment, runs] : origins)
    words.push_back(fmt::format(
        "{}{}",
        experiment.empty()
            ? std::string("from the virtual driver's clock alone")
            : fmt::format("from simulated runs with other seeds (experiment {})", experiment),
        origins.size() > 1 ? fmt::format(" ({})", counted(runs, "run")) : ""));
  return fmt::format("{}", fmt::join(words, ", and "));
}

void add_left_out(const std::vector<std::string>& runs, const char* why,
                  std::vector<std::string>& notes) {
  if (!runs.empty())
    notes.push_back(fmt::format("{} left out, such as {}: the prediction {}",
                                counted(runs.size(), "run"), runs.front(), why));
}

}  // namespace

std::vector<std::string> score_notes(const std::vector<ScoreRow>& rows,
                                     const PredictionScores& scores) {
  std::vector<std::string> notes;
  if (const auto [inside, values] = inside_of(rows); values > 0) {
    const std::string first = date_text(scores.made.front()), last = date_text(scores.made.back());
    notes.push_back(fmt::format("predicted {} UTC, before these runs began, {}",
                                first == last ? last : fmt::format("from {} to {}", first, last),
                                origin_words(scores.origins)));
    notes.push_back(fmt::format(
        "{} of these {} values ({:.0f} %) are inside their 90 % intervals. They depend on each "
        "other: those of one run, those of one seed, and all that were predicted from the same "
        "simulated runs",
        inside, values, 100.0 * inside / values));
    notes.push_back(
        "CRPS: how far the draws were from what was measured, in its unit, less half their own "
        "spread; 0 is best");
  }
  add_left_out(scores.late, "is said to be made after the run's first attempt began, and is none",
               notes);
  add_left_out(scores.altered, "is not as it was written ('acid doctor --store' says more)", notes);
  if (!scores.without.empty())
    notes.push_back(fmt::format("{} not predicted", counted(scores.without.size(), "run")));
  if (scores.diverged > 0)
    notes.push_back(fmt::format("{} diverged, and {} nothing to compare with a prediction",
                                counted(scores.diverged, "run"),
                                scores.diverged == 1 ? "has" : "have"));
  return notes;
}

}  // namespace acid
