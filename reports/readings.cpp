#include "reports/readings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "engine/base/error.hpp"
#include "reports/compare.hpp"
#include "reports/compare_formats.hpp"
#include "reports/grouping.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/parallel_reader.hpp"
#include "reports/targets.hpp"

namespace acid {
namespace {

constexpr std::array<std::pair<std::string_view, PositionAxis>, 4> kWayAxes{
    {{"gradients_to_target", PositionAxis::gradients},
     {"time_to_target", PositionAxis::normalised_time},
     {"seconds_to_target", PositionAxis::seconds},
     {"bytes_to_target", PositionAxis::bytes}}};

/// The axis on which its samples are apart, if it is read between samples.
std::optional<PositionAxis> axis_of(const Comparison& comparison, const std::string& metric) {
  if (const auto axis = axis_of_way(metric)) return axis;
  if (is_to_target(metric)) return PositionAxis::normalised_time;
  for (const EqualPlace& place : comparison.equal)
    if (place.metric == metric) return place.axis;
  if (comparison.at.kind == ReadAt::Kind::coordinate) return comparison.at.axis;
  return std::nullopt;
}

std::string resolution_of(const std::string& metric, double value) {
  return has_unit(metric) ? format_metric_value(metric, value) : format_number(value, 2);
}

constexpr double kMidFromShare = 0.2, kMidToShare = 0.5;

/// The points that compare_runs() will form of these runs.
Comparison shape_of(const std::vector<ComparedRun>& runs, const CompareOptions& options,
                    const std::vector<Selection>& selections) {
  Comparison shape;
  shape.target = options.target;
  shape.readers = options.readers;
  shape.selections = selections;
  if (!options.best_over.empty()) {
    Selection::Choice searched;
    searched.keys = options.best_over;
    searched.candidates.emplace_back();
    shape.selections.emplace_back().choices.push_back(std::move(searched));
  }
  form_groups(shape, runs);
  share_groups(shape);
  form_points(shape);
  settle_targets(shape);
  return shape;
}

std::vector<ComparedRun*> finished_at(const Comparison& shape,
                                      const std::vector<std::size_t>& points,
                                      std::vector<ComparedRun>& runs) {
  std::set<std::string> groups;
  for (const std::size_t g : groups_at(shape, points)) groups.insert(shape.groups[g].runs_group);
  std::vector<ComparedRun*> found;
  for (ComparedRun& run : runs)
    if (run.summary.state == RunState::finished && groups.contains(run.summary.group))
      found.push_back(&run);
  return found;
}

/// The span of the budget if all readers have the same and came so far, else of the shortest one.
void find_mid_span(const std::vector<ComparedRun*>& runs, const Readers& readers) {
  const bool timed = std::ranges::any_of(
      runs, [](const ComparedRun* run) { return run->summary.budget_time.has_value(); });
  const PositionAxis axis = timed ? PositionAxis::normalised_time : PositionAxis::gradients;
  double shortest = INFINITY;
  std::set<double> budgets;
  for (const ComparedRun* run : runs) {
    if (!readers.take(run->summary)) continue;
    shortest = std::min(shortest, coordinate(run->summary.progress, axis));
    budgets.insert(timed ? run->summary.budget_time.value_or(0)
                         : static_cast<double>(run->summary.budget_gradients));
  }
  if (budgets.empty()) return;
  const bool whole = budgets.size() == 1 && shortest >= kMidToShare * *budgets.begin();
  const double length = whole ? *budgets.begin() : shortest;
  for (ComparedRun* run : runs)
    run->mid = MidSpan{axis, kMidFromShare * length, kMidToShare * length, !whole};
}

/// The share of the way to the sample that reached the target at which it was reached.
double crossing(const Reached& reached, double target) {
  if (!reached.before || reached.first.value == reached.before->value) return 1;
  const double share =
      (target - reached.before->value) / (reached.first.value - reached.before->value);
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 1;
}

void add_target(const Store& store, ComparedRun& compared, const Target& target) {
  RunSummary& run = compared.summary;
  const auto reached = first_reaching(store, run.id, target.metric, target.value,
                                      better_direction(target.metric) > 0);
  if (!reached) return;
  const SeriesPoint& from = reached->before ? *reached->before : reached->first;
  const double share = crossing(*reached, target.value);
  const auto there = [&](PositionAxis axis) {
    return between(coordinate(from.position, axis), coordinate(reached->first.position, axis),
                   share);
  };
  constexpr std::string_view kExchanges = "exchanges";
  const std::array<std::string_view, 2> names{kExchanges, target.metric};
  const double time = there(PositionAxis::normalised_time);
  const auto around = samples_around(store, run.id, PositionAxis::normalised_time, time, names);
  const auto add = [&](const std::string& metric, PositionAxis axis) {
    const double place = there(axis);
    const double apart =
        coordinate(reached->first.position, axis) - coordinate(from.position, axis);
    run.metrics[metric] = place;
    Reading& reading = compared.readings[metric] = {apart, apart};
    if (!reached->before || reached->first.value == reached->before->value) return;
    const double step = reached->first.value - reached->before->value;
    compared.rounding.per_unit[metric] = apart / std::abs(step);
    if (apart > kWidestBracket * place) {
      reading.bend = apart;  // as wrong as it can be
      return;
    }
    if (const auto found = around.find(target.metric); found != around.end())
      if (const auto read = read_between(found->second, axis, place, place, INFINITY))
        reading.bend = read->reading.bend * apart / step;
  };
  for (const auto& [way, axis] : kWayAxes)
    if (axis != PositionAxis::gradients || !run.budget_time) add(std::string(way), axis);
  const auto counted = around.find(std::string(kExchanges));
  if (counted == around.end()) return;
  if (const auto exchanges = read_between(counted->second, PositionAxis::normalised_time, time,
                                          run.progress.normalised_time, INFINITY);
      exchanges && exchanges->value) {
    run.metrics["exchanges_to_target"] = *exchanges->value;
    compared.readings["exchanges_to_target"] = exchanges->reading;
  }
}

void add_mid(const Store& store, ComparedRun& run) {
  if (const auto mean = mean_between(store, run.summary.id, "consensus_distance", run.mid->axis,
                                     run.mid->from, run.mid->to))
    run.summary.metrics[kMidConsensus] = *mean;
}

}  // namespace

std::optional<PositionAxis> axis_of_way(std::string_view metric) {
  for (const auto& [way, axis] : kWayAxes)
    if (metric == way) return axis;
  return std::nullopt;
}

void add_readings(ComparedGroup& group, const std::string& metric,
                  const std::vector<Reading>& of_runs) {
  if (of_runs.empty()) return;
  std::vector<double> bends;
  for (const Reading& reading : of_runs) {
    group.readings[metric] = Reading::worse(group.readings[metric], reading);
    bends.push_back(reading.bend);
  }
  group.bends[metric] = estimate(bends).mean;
}

void gather_readings(Comparison& comparison, const std::vector<ComparedRun>& runs) {
  for (ComparedGroup& group : comparison.groups) {
    std::map<std::string, std::vector<Reading>> readings;
    for (const ComparedRun& run : runs)
      if (run.summary.group == group.runs_group)
        for (const auto& [metric, reading] : run.readings) readings[metric].push_back(reading);
    for (const auto& [metric, of_runs] : readings) add_readings(group, metric, of_runs);
  }
}

void refuse_if_nothing_is_read(const std::vector<ComparedRun>& runs,
                               const CompareOptions& options) {
  const ReadAt& at = options.at;
  if (at.kind != ReadAt::Kind::coordinate) return;
  const auto is_read_there = [&](const auto& metric) {
    const std::string& name = metric.first;
    return !is_to_target(name) && name != kMidConsensus &&
           (options.metrics.empty() ||
            std::ranges::find(options.metrics, name) != options.metrics.end());
  };
  const ComparedRun* refused = nullptr;
  double apart = 0;
  for (const ComparedRun& run : runs) {
    if (run.summary.state != RunState::finished) continue;
    if (std::ranges::any_of(run.summary.metrics, is_read_there)) return;
    if (refused == nullptr) refused = &run;
    for (const auto& [metric, gap] : run.not_read)
      if (gap && *gap > apart) {
        refused = &run;
        apart = *gap;
      }
  }
  if (refused == nullptr) return;
  if (apart == 0)
    throw UsageError(fmt::format("--at: no run has a value at {}; read earlier", place_of(at)));
  throw UsageError(fmt::format(
      "--at: no run has a value at {}: {}, so a value between them would be a guess; evaluate more "
      "often ([evaluation] every_seconds, every_gradients or every_time), or read later",
      place_of(at), stale_words(at.axis, apart, refused->summary.id, refused->summary.seed)));
}

std::string reading_words(const Comparison& comparison, const std::vector<std::size_t>& groups,
                          const std::string& metric) {
  const auto axis = axis_of(comparison, metric);
  if (!axis) return "";
  std::vector<std::pair<std::string, Reading>> by_label;
  for (const std::size_t g : groups) {
    const ComparedGroup& group = comparison.groups[g];
    const auto found = group.readings.find(metric);
    if (found == group.readings.end() || found->second.apart == 0) continue;
    const auto known =
        std::ranges::find(by_label, group.label, &std::pair<std::string, Reading>::first);
    if (known == by_label.end())
      by_label.emplace_back(group.label, found->second);
    else
      known->second = Reading::worse(known->second, found->second);
  }
  std::string words;
  for (const auto& [label, reading] : by_label)
    words += fmt::format("{}{} ({}, {}{})", words.empty() ? "known to within " : ", ",
                         is_to_target(metric) && metric != "exchanges_to_target"
                             ? format_on(*axis, reading.resolution)
                             : resolution_of(metric, reading.resolution),
                         label, words.empty() ? "between samples " : "",
                         format_on(*axis, reading.apart) + (words.empty() ? " apart" : ""));
  return words;
}

std::string stale_words(PositionAxis axis, double apart, const std::string& run,
                        std::uint64_t seed) {
  return fmt::format("samples around there are up to {} apart (run {}, seed {}), more than {}",
                     format_on(axis, apart), run, seed, kWidestBracketWords);
}

void read_starts(const Store& store, ComparedRun& run, const std::optional<Target>& target) {
  std::vector<std::string_view> metrics;
  for (const Metric& outcome : kOutcomes) metrics.push_back(outcome.name);
  for (const Metric& chosen_by : kMetricsIn<&Metric::search>) metrics.push_back(chosen_by.name);
  if (target) metrics.emplace_back(target->metric);
  for (const auto& [metric, around] :
       samples_around(store, run.summary.id, PositionAxis::normalised_time, 0, metrics)) {
    if (around.until.empty() || !std::isfinite(around.until.front().value)) continue;
    run.rounding.starts[metric] = std::abs(around.until.front().value);
    if (target && target->metric == metric)
      run.rounding.starts[kTargetStart] = run.rounding.starts[metric];
  }
}

void read_in_points(const Store& store, std::vector<ComparedRun>& runs,
                    const CompareOptions& options, const std::vector<Selection>& selections) {
  const Comparison shape = shape_of(runs, options, selections);
  std::map<std::string, std::optional<Target>> targets;  // by group of runs
  for (const ComparedGroup& group : shape.groups) targets[group.runs_group] = group.target;
  const bool mid = options.metrics.empty() ||
                   std::ranges::find(options.metrics, kMidConsensus) != options.metrics.end();
  if (mid)
    for (const std::vector<std::size_t>& points : linked_points(shape))
      find_mid_span(finished_at(shape, points, runs), options.readers);
  read_in_parallel(store, runs.size(), 0,
                   [&](const Store& own, std::size_t k) {
                     ComparedRun& run = runs[k];
                     if (run.summary.state != RunState::finished) return;
                     run.target = targets.at(run.summary.group);
                     if (run.target) add_target(own, run, *run.target);
                     read_starts(own, run, run.target);
                     if (run.mid) add_mid(own, run);
                   },
                   {});
}

void gather_mid_spans(Comparison& comparison, const std::vector<ComparedRun>& runs) {
  for (ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups)
      for (const ComparedRun& run : runs)
        if (run.summary.group == comparison.groups[g].runs_group && run.mid) point.mid = run.mid;
}

}  // namespace acid
