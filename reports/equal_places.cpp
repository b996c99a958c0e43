#include "reports/equal_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "reports/compare_notes.hpp"
#include "reports/grouping.hpp"
#include "reports/known_metrics.hpp"
#include "reports/parallel_reader.hpp"

namespace acid {
namespace {

struct EqualAxis {
  PositionAxis axis;
  std::string_view suffix;  // after kAtEqual
};
constexpr std::array kEqualAxes{EqualAxis{PositionAxis::gradients, "gradients"},
                                EqualAxis{PositionAxis::seconds, "seconds"},
                                EqualAxis{PositionAxis::bytes, "bytes"}};

/// The smallest end of any run of a point, for all of them.
void find_places(std::vector<ComparedRun*>& runs, const EqualAxis& axis) {
  double least = 0, most = 0;
  for (const ComparedRun* run : runs) {
    const double end = coordinate(run->summary.progress, axis.axis);
    least = run == runs.front() ? end : std::min(least, end);
    most = std::max(most, end_on(axis.axis, run->summary, run->settings));
  }
  const bool at_end = most <= least * (1 + kSameEnd);
  for (ComparedRun* run : runs) run->equal[axis.axis] = {least, at_end};
}

void read_outcomes_there(const Store& store, ComparedRun& run) {
  const std::vector<std::string_view> outcomes = outcomes_at_equal();
  for (const EqualAxis& axis : kEqualAxes) {
    const auto found = run.equal.find(axis.axis);
    if (found == run.equal.end() || found->second.at_end || found->second.place <= 0) continue;
    const double place = found->second.place;
    for (const auto& [outcome, around] :
         samples_around(store, run.summary.id, axis.axis, place, outcomes)) {
      const auto read =
          read_between(around, axis.axis, place, coordinate(run.summary.progress, axis.axis));
      if (!read) continue;
      const std::string metric = metric_at_equal(outcome, axis.axis);
      run.readings[metric] = read->reading;
      if (read->value)
        run.summary.metrics[metric] = *read->value;
      else
        run.not_read[metric] = read->too_far ? std::optional(read->reading.apart) : std::nullopt;
    }
  }
}

/// Where one of a group's runs has no value, what the others have says nothing of the group.
void keep_whole_groups(std::vector<ComparedRun>& runs) {
  std::set<std::pair<std::string, std::string>> broken;  // group and metric
  for (const ComparedRun& run : runs)
    for (const auto& [metric, apart] : run.not_read)
      if (is_at_equal_place(metric)) broken.emplace(run.summary.group, metric);
  for (ComparedRun& run : runs)
    for (const auto& [group, metric] : broken)
      if (run.summary.group == group) run.summary.metrics.erase(metric);
}

}  // namespace

std::vector<std::string_view> outcomes_at_equal() {
  std::vector<std::string_view> names;
  for (const OutcomeMetric& outcome : kOutcomes)  // Of these the last value says how a run went.
    if (outcome.name != kMidConsensus) names.push_back(outcome.name);
  return names;
}

std::string metric_at_equal(std::string_view outcome, PositionAxis axis) {
  const auto* const known = std::ranges::find(kEqualAxes, axis, &EqualAxis::axis);
  return fmt::format("{}{}{}", outcome, kAtEqual, known->suffix);
}

void find_equal_places(std::vector<ComparedRun>& runs) {
  Comparison shape;
  form_groups(shape, runs);
  form_points(shape);
  for (const ComparedPoint& point : shape.points) {
    if (point.groups.size() < 2) continue;
    std::vector<ComparedRun*> members;
    for (ComparedRun& run : runs)
      if (run.summary.state == RunState::finished &&
          std::ranges::any_of(point.groups, [&](std::size_t g) {
            return shape.groups[g].group == run.summary.group;
          }))
        members.push_back(&run);
    if (members.empty()) continue;
    for (const EqualAxis& axis : kEqualAxes) find_places(members, axis);
  }
}

void read_equal_places(const Store& store, std::vector<ComparedRun>& runs,
                       const CompareOptions& options) {
  const bool any_outcome = options.metrics.empty() ||
                           std::ranges::any_of(options.metrics, [](const std::string& metric) {
                             return is_outcome(base_metric(metric));
                           });
  if (options.at.kind != ReadAt::Kind::last || !any_outcome || runs.empty()) return;
  find_equal_places(runs);
  read_in_parallel(store, runs.size(), 0,
                   [&](const Store& own, std::size_t k) { read_outcomes_there(own, runs[k]); }, {});
  keep_whole_groups(runs);
}

std::vector<EqualPlace> equal_places(const Comparison& comparison,
                                     const std::vector<ComparedRun>& runs) {
  std::vector<EqualPlace> places;
  if (!is_outcome(comparison.primary) || comparison.primary == kMidConsensus) return places;
  for (std::size_t p = 0; p < comparison.points.size(); ++p)
    for (const EqualAxis& axis : kEqualAxes) {
      std::optional<EqualPlace> place;
      for (const std::size_t g : comparison.points[p].groups)
        for (const ComparedRun& run : runs) {
          const auto found = run.equal.find(axis.axis);
          if (run.summary.group != comparison.groups[g].group || found == run.equal.end()) continue;
          if (!place)
            place = EqualPlace{axis.axis,
                               p,
                               found->second.place,
                               found->second.at_end,
                               metric_at_equal(comparison.primary, axis.axis),
                               {}};
          const auto far = run.not_read.find(place->metric);
          if (far == run.not_read.end() || !far->second) continue;
          const EqualPlace::Stale stale{g, run.summary.id, run.summary.seed, *far->second};
          const auto known = std::ranges::find(place->stale, g, &EqualPlace::Stale::group);
          if (known == place->stale.end())
            place->stale.push_back(stale);
          else if (known->apart < stale.apart)
            *known = stale;
        }
      if (place) places.push_back(std::move(*place));
    }
  return places;
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
