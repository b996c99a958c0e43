#include "reports/equal_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/compare.hpp"
#include "reports/compare_notes.hpp"
#include "reports/known_metrics.hpp"
#include "reports/parallel_reader.hpp"
#include "reports/readings.hpp"

namespace acid {
namespace {

/// The smallest end of any run of a point; absent if none has finished.
std::optional<EqualPlace> place_on(const Comparison& comparison, std::size_t point,
                                   PositionAxis axis) {
  double least = INFINITY, most = 0;
  const ComparedGroup* first = nullptr;
  for (const std::size_t g : comparison.points[point].groups) {
    const ComparedGroup& group = comparison.groups[g];
    for (const RunSummary& run : group.runs) {
      if (!comparison.readers.take(run)) continue;
      if (first == nullptr) first = &group;
      if (axis == PositionAxis::seconds && clocks_differ(group, *first)) return std::nullopt;
      least = std::min(least, coordinate(run.progress, axis));
      most = std::max(most, end_on(axis, run, group.settings));
    }
  }
  if (std::isinf(least)) return std::nullopt;
  return EqualPlace{axis, point, least, most <= least * (1 + kSameEnd), {}, {}};
}

using ReadThere = std::map<std::string, ReadValue>;  // by outcome

ReadThere read_outcomes_there(const Store& store, const RunSummary& run, const EqualPlace& place) {
  ReadThere all;
  const std::vector<std::string_view> outcomes = outcomes_at_equal();
  const double end = coordinate(run.progress, place.axis);
  const double widest = end <= place.place * (1 + kNearEnd) ? INFINITY : kWidestBracket;
  for (const auto& [outcome, around] :
       samples_around(store, run.id, place.axis, place.place, outcomes))
    if (const auto read = read_between(around, place.axis, place.place, end, widest))
      all[outcome] = *read;
  return all;
}

/// If one of a group's runs has no value, the group has none.
void take(EqualPlace& place, std::size_t g, ComparedGroup& group,
          const std::vector<ReadThere>& of_runs) {
  for (const std::string_view outcome : outcomes_at_equal()) {
    const std::string metric = metric_at_equal(outcome, place.axis);
    std::vector<Reading> readings;
    bool whole = true;
    for (std::size_t k = 0; k < of_runs.size(); ++k) {
      const auto found = of_runs[k].find(std::string(outcome));
      if (found == of_runs[k].end()) {
        whole = false;
        continue;
      }
      const ReadValue& read = found->second;
      readings.push_back(read.reading);
      if (read.value)
        group.runs[k].metrics[metric] = *read.value;
      else
        whole = false;
      if (read.too_far)
        place.stale.push_back(
            {metric, g, group.runs[k].id, group.runs[k].seed, read.reading.apart});
    }
    add_readings(group, metric, readings);
    if (!whole)
      for (RunSummary& run : group.runs) run.metrics.erase(metric);
  }
}

}  // namespace

std::vector<std::string_view> outcomes_at_equal() {
  std::vector<std::string_view> names;
  for (const Metric& outcome : kOutcomes)  // The last value of these says how a run went.
    if (outcome.name != kMidConsensus) names.push_back(outcome.name);
  return names;
}

std::string metric_at_equal(std::string_view outcome, PositionAxis axis) {
  return fmt::format("{}{}{}", outcome, kAtEqual, name_of(axis));
}

std::vector<EqualPlace> find_equal_places(const Comparison& comparison) {
  std::vector<EqualPlace> places;
  for (std::size_t p = 0; p < comparison.points.size(); ++p)
    if (comparison.points[p].groups.size() > 1)
      for (const PositionAxis axis : kEqualAxes)
        if (auto place = place_on(comparison, p, axis)) places.push_back(std::move(*place));
  return places;
}

std::optional<MetricRead> metric_read_at(const Comparison& comparison, const std::string& metric,
                                         std::optional<PositionAxis> equal, std::size_t point) {
  if (!equal) {
    const auto& mid = comparison.points[point].mid;
    if (metric != kMidConsensus || !mid) return MetricRead{metric, ""};
    return MetricRead{metric, fmt::format("mean from {} to {}", format_on(mid->axis, mid->from),
                                          format_on(mid->axis, mid->to))};
  }
  // A comparison whose primary outcome is not read there has none.
  for (const EqualPlace& place :
       comparison.equal.empty() ? find_equal_places(comparison) : comparison.equal)
    if (place.point == point && place.axis == *equal) {
      if (place.at_end) return MetricRead{metric, ""};
      if (place.place > 0)
        return MetricRead{metric_at_equal(metric, *equal),
                          "at " + format_on(place.axis, place.place)};
    }
  return std::nullopt;
}

FillEqualPlaces reads_equal_places(const Store& store, const CompareOptions& options) {
  const bool any_outcome = options.metrics.empty() ||
                           std::ranges::any_of(options.metrics, [](const std::string& metric) {
                             return is_outcome(base_metric(metric));
                           });
  if (options.at.kind != ReadAt::Kind::last || !any_outcome) return {};
  return [&store](Comparison& comparison) {
    comparison.equal = find_equal_places(comparison);
    struct Task {
      EqualPlace* place;
      std::size_t group;
      std::vector<ReadThere> of_runs;
    };
    std::vector<Task> tasks;
    std::vector<std::pair<std::size_t, std::size_t>> reads;  // task, run
    for (EqualPlace& place : comparison.equal)
      if (!place.at_end && place.place > 0)
        for (const std::size_t g : comparison.points[place.point].groups) {
          const std::size_t runs = comparison.groups[g].runs.size();
          for (std::size_t k = 0; k < runs; ++k) reads.emplace_back(tasks.size(), k);
          tasks.push_back({&place, g, std::vector<ReadThere>(runs)});
        }
    read_in_parallel(store, reads.size(), 0,
                     [&](const Store& own, std::size_t r) {
                       const auto& [t, k] = reads[r];
                       Task& task = tasks[t];
                       task.of_runs[k] = read_outcomes_there(
                           own, comparison.groups[task.group].runs[k], *task.place);
                     },
                     {});
    for (Task& task : tasks)
      take(*task.place, task.group, comparison.groups[task.group], task.of_runs);
  };
}

void keep_primary_places(Comparison& comparison) {
  if (!is_outcome(comparison.primary) || comparison.primary == kMidConsensus)
    comparison.equal.clear();
  for (EqualPlace& place : comparison.equal) {
    place.metric = metric_at_equal(comparison.primary, place.axis);
    std::vector<EqualPlace::Stale> stale;  // the furthest of each group
    for (EqualPlace::Stale& one : place.stale) {
      if (one.metric != place.metric) continue;
      const auto known = std::ranges::find(stale, one.group, &EqualPlace::Stale::group);
      if (known == stale.end())
        stale.push_back(std::move(one));
      else if (known->apart < one.apart)
        *known = std::move(one);
    }
    place.stale = std::move(stale);
  }
}

std::string_view equal_words(PositionAxis axis) {
  return axis == PositionAxis::seconds ? "time" : name_of(axis);
}

std::vector<std::string> equal_metrics(const Comparison& comparison) {
  std::vector<std::string> metrics;
  for (const EqualPlace& place : comparison.equal)
    if (!place.at_end && std::ranges::find(metrics, place.metric) == metrics.end())
      metrics.push_back(place.metric);
  return metrics;
}

bool is_claim(const Comparison& comparison, std::string_view metric) {
  return !comparison.primary.empty() && base_metric(metric) == comparison.primary;
}

}  // namespace acid
