#include "reports/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/compare_notes.hpp"
#include "reports/differences.hpp"
#include "reports/equal_places.hpp"
#include "reports/grouping.hpp"
#include "reports/heading.hpp"
#include "reports/known_metrics.hpp"
#include "reports/primary.hpp"
#include "reports/readings.hpp"
#include "reports/settings.hpp"
#include "reports/targets.hpp"

namespace acid {
namespace {

/// The metrics of runs with an outcome.
std::vector<std::string> recorded_metrics(const Comparison& comparison,
                                          const std::vector<ComparedRun>& runs) {
  std::set<std::string> names;
  for (const ComparedRun& run : runs)
    if (run.summary.state == RunState::diverged)
      for (const auto& [name, value] : run.summary.metrics) names.insert(name);
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs)
      for (const auto& [name, value] : run.metrics) names.insert(name);
  for (const ComparedRun& run : runs)
    for (const auto& [name, apart] : run.not_read) names.insert(name);
  return {names.begin(), names.end()};
}

void choose_metrics(Comparison& comparison, const std::vector<ComparedRun>& runs,
                    const CompareOptions& options) {
  const std::vector<std::string> known = recorded_metrics(comparison, runs);
  const auto is_known = [&](std::string_view name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  const bool has_target = std::ranges::any_of(
      comparison.groups, [](const ComparedGroup& group) { return group.target.has_value(); });
  const auto is_of_target = [](const std::string& name) {
    return is_to_target(name) && known_metric(name) != nullptr;
  };
  for (const std::string& name : options.metrics) {
    if (is_of_target(name) && !has_target)
      throw UsageError(fmt::format(
          "'{}' is of a target: name one with --target, as in eval_accuracy=0.9", name));
    if (!known.empty() && !is_known(name) && !is_of_target(name))
      throw UsageError(fmt::format("no finished run here has the metric '{}'; they have {}", name,
                                   one_of(known)));
    comparison.metrics.push_back(name);
  }
  if (!options.metrics.empty()) {
    if (!options.target) return;
    for (const Metric& metric : kWaysToTarget)
      if (std::ranges::find(comparison.metrics, metric.name) == comparison.metrics.end())
        comparison.metrics.emplace_back(metric.name);
    return;
  }
  for (const Metric& metric : kMetricsIn<&Metric::column>)
    if (is_known(metric.name)) comparison.metrics.emplace_back(metric.name);
  if (!options.derive_all) return;
  for (const Metric& metric : kMetricsIn<&Metric::further>)
    if (is_known(metric.name)) comparison.metrics.emplace_back(metric.name);
}

/// Compares the primary outcome where all runs have come equally far.
void compare_at_equal_places(Comparison& comparison, const CompareOptions& options) {
  keep_primary_places(comparison);
  std::vector<std::string> metrics = equal_metrics(comparison);
  std::erase_if(metrics, [&](const std::string& metric) {
    return std::ranges::find(comparison.metrics, metric) != comparison.metrics.end();
  });
  estimate_metrics(comparison, metrics);
  find_differences(comparison, metrics);
  if (options.derive_all && options.metrics.empty())
    comparison.metrics.insert(comparison.metrics.end(), metrics.begin(), metrics.end());
}

/// The baseline asked for or, when no group has that name, the first algorithm.
void settle_baseline(Comparison& comparison, const CompareOptions& options) {
  const std::string& asked = options.baseline;
  const auto named = [&](const ComparedGroup& g) {
    return g.algorithm == asked || g.label == asked;
  };
  comparison.baseline = asked;
  if (std::any_of(comparison.groups.begin(), comparison.groups.end(), named)) return;
  if (options.baseline_must_be_there) {
    std::set<std::string> labels;
    for (const ComparedGroup& group : comparison.groups) labels.insert(group.label);
    throw UsageError(fmt::format("there is no run of the baseline '{}' here, only of {}", asked,
                                 fmt::join(labels, ", ")));
  }
  comparison.baseline = comparison.groups.front().label;
  if (comparison.groups.size() > 1)
    comparison.notes.push_back(
        {NoteKind::no_baseline, fmt::format("no run of {} here: differences are to {}, the first",
                                            asked, comparison.baseline)});
}

}  // namespace

namespace {
template <class Value>
Value value_or_none(const std::map<std::string, Value>& values, const std::string& metric) {
  const auto found = values.find(metric);
  return found == values.end() ? Value{} : found->second;
}
}  // namespace

Estimate ComparedGroup::estimate_of(const std::string& metric) const {
  return value_or_none(metrics, metric);
}

Robust ComparedGroup::robust_of(const std::string& metric) const {
  return value_or_none(robust, metric);
}

Reading ComparedGroup::reading_of(const std::string& metric) const {
  return value_or_none(readings, metric);
}

std::set<std::uint64_t> ComparedGroup::seeds() const {
  std::set<std::uint64_t> seeds(diverged.begin(), diverged.end());
  for (const RunSummary& run : runs) seeds.insert(run.seed);
  return seeds;
}

std::optional<double> outcome_of(const ComparedGroup& group, std::uint64_t seed,
                                 const std::string& metric) {
  if (is_to_target(metric) && !group.target) return std::nullopt;
  const int better = better_direction(metric);
  const double worst = better > 0 ? -INFINITY : INFINITY;
  for (const RunSummary& run : group.runs) {
    if (run.seed != seed) continue;
    const auto found = run.metrics.find(metric);
    if (found != run.metrics.end()) return found->second;
    return is_to_target(metric) ? std::optional(worst) : std::nullopt;
  }
  if (better == 0 || std::ranges::find(group.diverged, seed) == group.diverged.end())
    return std::nullopt;
  // Where the runs that finished have no value, those that diverged have none either.
  const bool is_read = !is_at_equal_place(metric) || group.runs.empty() ||
                       group.runs.front().metrics.contains(metric);
  return is_read ? std::optional(worst) : std::nullopt;
}

namespace {

/// Whether a run of this seed ended short of its target before it came so far on the way.
bool ended_before(const ComparedGroup& group, std::uint64_t seed, const std::string& metric,
                  double place) {
  for (const RunSummary& run : group.runs) {
    if (run.seed != seed || run.metrics.contains(metric)) continue;
    if (const auto axis = axis_of_way(metric)) return coordinate(run.progress, *axis) < place;
    const auto exchanges = run.metrics.find("exchanges");
    const double end = exchanges != run.metrics.end() ? exchanges->second : 0;
    return end == 0 || end < place;  // a method without exchanges has no such way
  }
  return false;
}

}  // namespace

bool clocks_differ(const ComparedGroup& a, const ComparedGroup& b) {
  return is_simulated(a.settings) != is_simulated(b.settings);
}

double floor_between(const ComparedGroup& a, const ComparedGroup& b, const std::string& metric,
                     double of_a, double of_b) {
  return rounding_floor(a.rounding, b.rounding, metric, of_a, of_b, a.target ? a.target->value : 0);
}

PairedValues paired_by_seed(const ComparedGroup& a, const ComparedGroup& b,
                            const std::string& metric) {
  PairedValues values;
  if (is_on_clock(metric) && clocks_differ(a, b)) return values;
  for (const std::uint64_t seed : a.seeds()) {
    auto mine = outcome_of(a, seed, metric), theirs = outcome_of(b, seed, metric);
    if (!mine || !theirs) continue;
    if (is_to_target(metric) && *mine != *theirs &&
        (ended_before(a, seed, metric, *theirs) || ended_before(b, seed, metric, *mine))) {
      ++values.unordered;
      mine = theirs = INFINITY;
    }
    values.a.push_back(*mine);
    values.b.push_back(*theirs);
    values.floors.push_back(floor_between(a, b, metric, *mine, *theirs));
  }
  for (const ComparedGroup* group : {&a, &b})
    if (const auto bend = group->bends.find(metric); bend != group->bends.end())
      values.hidden += std::abs(bend->second);
  return values;
}

namespace {
bool is_hidden_by(double hidden, const Estimate& e) {
  return hidden > 0 && e.n > 0 && std::abs(e.mean) <= hidden;
}
}  // namespace

bool ComparedDifference::is_hidden() const {
  return value.p == 1.0 && is_hidden_by(hidden, value.difference);
}

PairedDifference tested(const PairedValues& pairs) {
  PairedDifference difference = paired_difference(pairs.a, pairs.b, pairs.floors);
  if (!difference.p || !is_hidden_by(pairs.hidden, difference.difference)) return difference;
  // What finite values differ by says nothing. Where one diverged or missed its target, the other
  // is better all the same.
  std::vector<double> a = pairs.a;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::isfinite(a[k]) && std::isfinite(pairs.b[k])) a[k] = pairs.b[k];
  const PairedDifference told = paired_difference(a, pairs.b, pairs.floors);
  difference.p = told.p;
  difference.sign = told.sign;
  return difference;
}

int diverged_beside(const ComparedGroup& a, const ComparedGroup& b) {
  const std::set<std::uint64_t> others = b.seeds();
  return static_cast<int>(
      std::ranges::count_if(a.diverged, [&](std::uint64_t seed) { return others.contains(seed); }));
}

Comparison compare_runs(std::vector<ComparedRun> runs, const CompareOptions& options,
                        std::vector<Selection> selections, const std::vector<ComparisonPlan>& plans,
                        const FillEqualPlaces& fill_equal_places) {
  if (runs.empty()) throw UsageError("there are no runs to compare; name some, or run a recipe");
  refuse_if_nothing_is_read(runs, options);
  Comparison comparison;
  comparison.selections = std::move(selections);
  if (!options.best_over.empty()) comparison.selections.push_back(select_best(runs, options));
  comparison.heading = heading_of(runs);
  comparison.at = options.at;
  comparison.readers = options.readers;
  comparison.target = options.target;
  comparison.plan = agreed_plan(plans, comparison.notes);
  form_groups(comparison, runs);
  share_groups(comparison);
  settle_baseline(comparison, options);
  form_points(comparison);
  settle_targets(comparison);
  gather_mid_spans(comparison, runs);
  form_sections(comparison, options.by);
  distinguish_labels(comparison);
  choose_consensus_baselines(comparison, options.baseline_must_be_there ? options.baseline : "");
  if (fill_equal_places) fill_equal_places(comparison);
  choose_metrics(comparison, runs, options);
  choose_primary(comparison, runs, options);
  // The verdict's metric comes first, unless the order was asked for.
  if (options.metrics.empty())
    std::stable_partition(comparison.metrics.begin(), comparison.metrics.end(),
                          [&](const std::string& metric) { return metric == comparison.primary; });
  gather_readings(comparison, runs);
  estimate_metrics(comparison, comparison.metrics);
  find_differences(comparison, comparison.metrics);
  compare_at_equal_places(comparison, options);
  adjust_differences(comparison);
  find_ratios(comparison);
  add_notes(comparison, runs, options);
  return comparison;
}

const ComparedGroup& group_of(const Comparison& comparison, const std::string& digest) {
  const auto found = std::ranges::find(comparison.groups, digest, &ComparedGroup::group);
  ACID_ASSERT(found != comparison.groups.end(), "no group {}", digest);
  return *found;
}

bool is_baseline(const Comparison& comparison, std::size_t group, std::string_view metric) {
  return std::ranges::any_of(comparison.points, [&](const ComparedPoint& point) {
    return baseline_for(point, metric) == group;
  });
}

int censored(const ComparedGroup& group, const std::string& metric) {
  if (!is_to_target(metric) || !group.target) return 0;
  const auto missed = std::ranges::count_if(
      group.runs, [&](const RunSummary& run) { return !run.metrics.contains(metric); });
  return static_cast<int>(missed) + static_cast<int>(group.diverged.size());
}

const ComparedDifference* find_difference(const Comparison& comparison, const std::string& group,
                                          const std::string& metric) {
  for (const ComparedDifference& difference : comparison.differences)
    if (difference.group == group && difference.metric == metric) return &difference;
  return nullptr;
}

std::vector<const ComparedGroup*> groups_of(const Comparison& comparison,
                                            const ComparedSection& section) {
  std::vector<const ComparedGroup*> groups;
  for (const std::size_t g : section.groups) groups.push_back(&comparison.groups[g]);
  return groups;
}

const ComparedRatio* find_ratio(const Comparison& comparison, const std::string& group,
                                const std::string& metric) {
  for (const ComparedRatio& ratio : comparison.ratios)
    if (ratio.group == group && ratio.metric == metric) return &ratio;
  return nullptr;
}

}  // namespace acid
