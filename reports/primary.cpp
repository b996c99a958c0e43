#include "reports/primary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/methods/method.hpp"
#include "reports/compare.hpp"
#include "reports/differences.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/realised_rate.hpp"
#include "reports/settings.hpp"
#include "reports/targets.hpp"

namespace acid {
namespace {

constexpr const char* kConsensus = "consensus_distance";

bool has_metric(const Comparison& comparison, std::string_view metric) {
  return std::ranges::find(comparison.metrics, metric) != comparison.metrics.end();
}

/// Metrics whose target value stops some of the runs: their last value is the target's.
std::set<std::string> stopped_by(const Comparison& comparison) {
  std::set<std::string> metrics;
  for (const ComparedGroup& group : comparison.groups)
    if (const auto target = target_of(group.settings, std::nullopt)) metrics.insert(target->metric);
  return metrics;
}

/// Whether every run is measured against a target, the same one at each setting.
bool has_ways(const Comparison& comparison) {
  return std::ranges::all_of(comparison.groups,
                             [](const ComparedGroup& group) { return group.target.has_value(); }) &&
         std::ranges::none_of(comparison.points, &ComparedPoint::targets_differ);
}

/// The outcome that fits the task, unless only some of its metrics are compared.
std::string outcome_of_task(const Comparison& comparison, const std::vector<ComparedRun>& runs) {
  const bool no_gradients = std::ranges::all_of(
      runs, [](const ComparedRun& run) { return run.summary.budget_time.has_value(); });
  const std::set<std::string> stopped = stopped_by(comparison);
  if (!stopped.empty() && has_ways(comparison))
    return std::string(kWaysToTarget[no_gradients ? 1 : 0].name);
  if (no_gradients) return kMidConsensus;
  for (const Metric& outcome : kOutcomes)
    if (outcome.name != kMidConsensus && has_metric(comparison, outcome.name) &&
        !stopped.contains(std::string(outcome.name)))
      return std::string(outcome.name);
  return {};
}

/// The first compared outcome at which no run stops.
std::string outcome_named(const Comparison& comparison) {
  const std::set<std::string> stopped = stopped_by(comparison);
  if (!stopped.empty() && has_ways(comparison))
    for (const Metric& way : kWaysToTarget)
      if (has_metric(comparison, way.name)) return std::string(way.name);
  for (const Metric& outcome : kOutcomes)
    if (has_metric(comparison, outcome.name) && !stopped.contains(std::string(outcome.name)))
      return std::string(outcome.name);
  return {};
}

/// The recipe's outcome, if runs can be compared by it; else a note says why not.
std::string outcome_asked(Comparison& comparison) {
  const std::string& asked = comparison.plan.primary;
  if (!is_to_target(asked) || has_ways(comparison)) return asked;
  comparison.notes.push_back(
      {NoteKind::other_primary,
       fmt::format("{}, the primary outcome of the recipe, is not to the same target in all runs "
                   "of a setting",
                   asked)});
  return {};
}

/// Whether workers meet their partners at a rate above 0.
bool meets_by_rate(const ComparedGroup& group) {
  if (!setting_at(group.settings, "/algorithm/communication_rate").is_null())
    return nominal_rate(group.settings).has_value();
  const AlgorithmEntry* const entry = find_algorithm(group.algorithm);
  return entry != nullptr && meets(entry->peers);
}

bool is_called(const ComparedGroup& group, const std::string& name) {
  return group.algorithm == name || group.label == name ||
         (!group.runs.empty() && group.runs.front().label == name);
}

}  // namespace

void choose_primary(Comparison& comparison, const std::vector<ComparedRun>& runs,
                    const CompareOptions& options) {
  const std::string asked = outcome_asked(comparison);
  comparison.primary = asked.empty() ? outcome_of_task(comparison, runs) : asked;
  if (comparison.primary == kMidConsensus && comparison.at.kind == ReadAt::Kind::coordinate)
    comparison.primary = kConsensus;  // for a place, the middle of the run is no answer
  if (has_metric(comparison, comparison.primary)) return;
  if (!options.metrics.empty()) {
    comparison.primary = outcome_named(comparison);
    if (!asked.empty())
      comparison.notes.push_back(
          {NoteKind::other_primary,
           fmt::format("{}, the primary outcome of the recipe, is not among the metrics named",
                       asked)});
  } else if (is_to_target(comparison.primary) && has_ways(comparison) &&
             !comparison.metrics.empty()) {
    comparison.metrics.push_back(comparison.primary);  // no run reached it, which is a result
  } else {
    comparison.primary.clear();
  }
}

bool is_consensus(std::string_view metric) {
  return metric == kConsensus || metric == kMidConsensus;
}

void choose_consensus_baselines(Comparison& comparison, const std::string& baseline) {
  const auto is_asked = [&](std::size_t g) {
    const ComparedGroup& group = comparison.groups[g];
    return is_called(group, baseline) && !always_agrees(group, kMidConsensus);
  };
  const bool asked = !baseline.empty() && std::ranges::any_of(comparison.points, [&](auto& point) {
    return std::ranges::any_of(point.groups, is_asked);
  });
  const std::string& named = comparison.plan.consensus_baseline;
  comparison.consensus_baseline_words = asked ? "as asked"
                                        : named.empty()
                                            ? "the first algorithm of pairwise exchanges"
                                            : "as the recipe says";
  for (ComparedPoint& point : comparison.points) {
    const auto found = std::ranges::find_if(point.groups, [&](std::size_t g) {
      const ComparedGroup& group = comparison.groups[g];
      if (asked) return is_asked(g);
      return named.empty() ? meets_by_rate(group) : is_called(group, named);
    });
    if (found != point.groups.end()) point.consensus_baseline = *found;
  }
}

std::optional<std::size_t> baseline_for(const ComparedPoint& point, std::string_view metric) {
  return is_consensus(metric) ? point.consensus_baseline : point.baseline;
}

std::string consensus_baseline_label(const Comparison& comparison) {
  for (const ComparedPoint& point : comparison.points)
    if (point.consensus_baseline) return comparison.groups[*point.consensus_baseline].label;
  return {};
}

std::string own_baseline_words(const Comparison& comparison, const ComparedDifference& difference) {
  if (!is_consensus(difference.metric)) return {};
  return fmt::format(" to {}", group_of(comparison, difference.baseline).label);
}

bool has_verdict(const Comparison& comparison, std::string_view metric) {
  return is_claim(comparison, metric) || metric == kMidConsensus ||
         comparison.plan.margins.contains(std::string(base_metric(metric)));
}

std::string words_of(std::string_view metric) {
  const auto* const outcome = std::ranges::find(kOutcomes, metric, &Metric::name);
  if (outcome != kOutcomes.end()) return std::string(outcome->outcome.words);
  const auto* const way = std::ranges::find(kWaysToTarget, metric, &Metric::name);
  if (way != kWaysToTarget.end()) return fmt::format("{} to the target", way->way.words);
  return metric == kConsensus ? "consensus distance" : std::string(metric);
}

std::string words_of(const ComparedGroup& group, std::string_view metric) {
  const auto* const way = std::ranges::find(kWaysToTarget, metric, &Metric::name);
  if (way == kWaysToTarget.end() || !group.target) return words_of(metric);
  return fmt::format("{} to {}", way->way.words, target_text(*group.target));
}

}  // namespace acid
