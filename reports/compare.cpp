#include "reports/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <string_view>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/compare_notes.hpp"
#include "reports/equal_places.hpp"
#include "reports/grouping.hpp"
#include "reports/heading.hpp"
#include "reports/known_metrics.hpp"
#include "reports/power.hpp"
#include "reports/readings.hpp"

namespace acid {
namespace {

constexpr std::array<std::string_view, 14> kDefaultMetrics{"eval_accuracy",
                                                           "eval_loss",
                                                           "train_loss_at_mean",
                                                           "worker_accuracy_worst",
                                                           "consensus_distance",
                                                           "consensus_distance_mid",
                                                           "gradients_to_target",
                                                           "time_to_target",
                                                           "seconds_to_target",
                                                           "bytes_to_target",
                                                           "gradients",
                                                           "seconds",
                                                           "bytes",
                                                           "gradients_per_second"};
constexpr std::array<std::string_view, 9> kFurtherMetrics{
    "worker_accuracy",     "worker_loss",       "worker_loss_worst",
    "train_loss",          "validation_loss",   "validation_accuracy",
    "exchanges_to_target", "auc_eval_accuracy", "auc_eval_loss"};
constexpr std::array<std::string_view, 2> kRatioMetrics{"consensus_distance",
                                                        "consensus_distance_mid"};

/// Of runs with an outcome.
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
  const bool has_target = std::ranges::any_of(comparison.groups, [&](const ComparedGroup& group) {
    return target_of(group.settings, options.target).has_value();
  });
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
    for (const std::string_view name : kDefaultMetrics)
      if (is_to_target(name) &&
          std::ranges::find(comparison.metrics, name) == comparison.metrics.end())
        comparison.metrics.emplace_back(name);
    return;
  }
  for (const std::string_view name : kDefaultMetrics)
    if (is_known(name)) comparison.metrics.emplace_back(name);
  if (!options.derive_all) return;
  for (const std::string_view name : kFurtherMetrics)
    if (is_known(name)) comparison.metrics.emplace_back(name);
}

std::vector<double> values_of(const ComparedGroup& group, const std::string& metric) {
  std::vector<double> values;
  for (const RunSummary& run : group.runs)
    if (const auto found = run.metrics.find(metric); found != run.metrics.end())
      values.push_back(found->second);
  return values;
}

/// The same where only their order counts.
std::vector<double> outcomes_of(const ComparedGroup& group, const std::string& metric) {
  std::vector<double> values;
  for (const std::uint64_t seed : group.seeds())
    if (const auto value = outcome_of(group, seed, metric)) values.push_back(*value);
  return values;
}

void estimate_metrics(Comparison& comparison, const std::vector<std::string>& metrics) {
  for (ComparedGroup& group : comparison.groups)
    for (const std::string& metric : metrics) {
      const std::vector<double> values = values_of(group, metric);
      if (!values.empty() && censored(group, metric) == 0) group.metrics[metric] = estimate(values);
      if (const std::vector<double> outcomes = outcomes_of(group, metric); !outcomes.empty())
        group.robust[metric] = robust(outcomes);
    }
}

std::optional<Chance> improvement(const ComparedGroup& group, const ComparedGroup& baseline,
                                  const std::string& metric) {
  const int better = better_direction(metric);
  if (better == 0) return std::nullopt;
  const std::vector<double> own = outcomes_of(group, metric);
  const std::vector<double> other = outcomes_of(baseline, metric);
  return better > 0 ? chance_above(own, other) : chance_above(other, own);
}

void find_differences(Comparison& comparison, const std::vector<std::string>& metrics) {
  for (const std::string& metric : metrics)
    for (const ComparedPoint& point : comparison.points) {
      if (!point.baseline) continue;
      const ComparedGroup& baseline = comparison.groups[*point.baseline];
      for (const std::size_t g : point.groups) {
        if (g == *point.baseline) continue;
        const ComparedGroup& group = comparison.groups[g];
        const PairedValues pairs = paired_by_seed(group, baseline, metric);
        if (pairs.a.empty()) continue;
        ComparedDifference difference;
        difference.group = group.group;
        difference.baseline = baseline.group;
        difference.metric = metric;
        difference.value = paired_difference(pairs.a, pairs.b, kRounding);
        if (censored(group, metric) + censored(baseline, metric) > 0)
          difference.value.difference = {};
        difference.diverged = diverged_beside(group, baseline);
        difference.baseline_diverged = diverged_beside(baseline, group);
        difference.improvement = improvement(group, baseline, metric);
        comparison.differences.push_back(std::move(difference));
      }
    }
}

/// Holm's p and simultaneous intervals.
void adjust_family(std::span<ComparedDifference* const> family) {
  std::vector<double> p, smallest;
  for (const ComparedDifference* one : family)
    if (one->value.p) {
      p.push_back(*one->value.p);
      smallest.push_back(smallest_p(one->value.unequal));
    }
  const std::vector<double> adjusted = holm(p), adjusted_smallest = holm(smallest);
  std::size_t next = 0;
  for (ComparedDifference* one : family) {
    one->family = std::max(1, static_cast<int>(p.size()));
    one->simultaneous = at_level(one->value.difference, 1 - (1 - kLevel) / one->family);
    if (!one->value.p) continue;
    one->p_holm = adjusted[next];
    one->smallest_p_holm = adjusted_smallest[next++];
    one->seeds_to_show = seeds_to_show(*one);
  }
}

/// A family is all that is claimed of the primary outcome; of any other metric all of that metric.
void adjust_differences(Comparison& comparison) {
  std::map<std::string, std::vector<ComparedDifference*>> families;
  for (ComparedDifference& one : comparison.differences)
    families[is_claim(comparison, one.metric) ? comparison.primary : one.metric].push_back(&one);
  for (const auto& [metric, family] : families) adjust_family(family);
}

/// The primary outcome where all have come equally far.
void compare_at_equal_places(Comparison& comparison, const std::vector<ComparedRun>& runs,
                             const CompareOptions& options) {
  comparison.equal = equal_places(comparison, runs);
  std::vector<std::string> metrics = equal_metrics(comparison);
  std::erase_if(metrics, [&](const std::string& metric) {
    return std::ranges::find(comparison.metrics, metric) != comparison.metrics.end();
  });
  estimate_metrics(comparison, metrics);
  find_differences(comparison, metrics);
  if (options.derive_all && options.metrics.empty())
    comparison.metrics.insert(comparison.metrics.end(), metrics.begin(), metrics.end());
}

void choose_primary(Comparison& comparison) {
  for (const OutcomeMetric& outcome : kOutcomes) {
    if (std::ranges::find(comparison.metrics, outcome.name) == comparison.metrics.end()) continue;
    if (comparison.primary.empty()) comparison.primary = outcome.name;
    // Asked of a place, one is not answered of the whole run.
    else if (comparison.at.kind == ReadAt::Kind::coordinate && outcome.name == kMidConsensus)
      continue;
    const bool differs =
        std::ranges::any_of(comparison.differences, [&](const ComparedDifference& one) {
          return one.metric == outcome.name && one.value.unequal > 0;
        });
    if (!differs) continue;
    comparison.primary = outcome.name;
    return;
  }
}

bool all_positive(const ComparedGroup& group, const std::string& metric) {
  const auto usable = [&](const RunSummary& run) {
    const auto found = run.metrics.find(metric);
    return found != run.metrics.end() && found->second > 0 && std::isfinite(found->second);
  };
  return !group.runs.empty() && std::all_of(group.runs.begin(), group.runs.end(), usable);
}

void find_ratios(Comparison& comparison) {
  for (const std::string_view name : kRatioMetrics) {
    const std::string metric(name);
    if (std::find(comparison.metrics.begin(), comparison.metrics.end(), metric) ==
        comparison.metrics.end())
      continue;
    for (const ComparedPoint& point : comparison.points) {
      std::vector<std::size_t> order = point.groups;
      if (point.baseline) order.insert(order.begin(), *point.baseline);
      const auto reference = std::find_if(order.begin(), order.end(), [&](std::size_t g) {
        return all_positive(comparison.groups[g], metric);
      });
      if (reference == order.end()) continue;
      for (const std::size_t g : point.groups) {
        if (g == *reference) continue;
        const PairedValues pairs =
            paired_by_seed(comparison.groups[g], comparison.groups[*reference], metric);
        if (const auto ratio = paired_ratio(pairs.a, pairs.b))
          comparison.ratios.push_back({comparison.groups[g].group,
                                       comparison.groups[*reference].group, metric, *ratio,
                                       static_cast<int>(pairs.a.size()) - ratio->n});
      }
    }
  }
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

std::set<std::uint64_t> ComparedGroup::seeds() const {
  std::set<std::uint64_t> seeds(diverged.begin(), diverged.end());
  for (const RunSummary& run : runs) seeds.insert(run.seed);
  return seeds;
}

std::optional<double> outcome_of(const ComparedGroup& group, std::uint64_t seed,
                                 const std::string& metric) {
  const int better = better_direction(metric);
  const double worst = better > 0 ? -INFINITY : INFINITY;
  for (const RunSummary& run : group.runs) {
    if (run.seed != seed) continue;
    const auto found = run.metrics.find(metric);
    if (found != run.metrics.end()) return found->second;
    return is_to_target(metric) ? std::optional(worst) : std::nullopt;
  }
  const bool diverged = std::ranges::find(group.diverged, seed) != group.diverged.end();
  return diverged && better != 0 ? std::optional(worst) : std::nullopt;
}

PairedValues paired_by_seed(const ComparedGroup& a, const ComparedGroup& b,
                            const std::string& metric) {
  PairedValues values;
  for (const std::uint64_t seed : a.seeds()) {
    const auto mine = outcome_of(a, seed, metric), theirs = outcome_of(b, seed, metric);
    if (!mine || !theirs) continue;
    values.a.push_back(*mine);
    values.b.push_back(*theirs);
  }
  return values;
}

int diverged_beside(const ComparedGroup& a, const ComparedGroup& b) {
  const std::set<std::uint64_t> others = b.seeds();
  return static_cast<int>(
      std::ranges::count_if(a.diverged, [&](std::uint64_t seed) { return others.contains(seed); }));
}

Comparison compare_runs(std::vector<ComparedRun> runs, const CompareOptions& options,
                        std::vector<Selection> selections) {
  if (runs.empty()) throw UsageError("there are no runs to compare; name some, or run a recipe");
  refuse_if_nothing_is_read(runs, options);
  Comparison comparison;
  comparison.selections = std::move(selections);
  if (!options.best_over.empty()) comparison.selections.push_back(select_best(runs, options));
  comparison.heading = heading_of(runs);
  comparison.at = options.at;
  comparison.target = options.target;
  form_groups(comparison, runs);
  share_groups(comparison);
  settle_baseline(comparison, options);
  form_points(comparison);
  form_sections(comparison, options.by);
  distinguish_labels(comparison);
  choose_metrics(comparison, runs, options);
  gather_readings(comparison, runs);
  estimate_metrics(comparison, comparison.metrics);
  find_differences(comparison, comparison.metrics);
  choose_primary(comparison);
  compare_at_equal_places(comparison, runs, options);
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

bool is_baseline(const Comparison& comparison, std::size_t group) {
  return std::ranges::find(comparison.points, std::optional(group), &ComparedPoint::baseline) !=
         comparison.points.end();
}

int censored(const ComparedGroup& group, const std::string& metric) {
  if (!is_to_target(metric)) return 0;
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

std::vector<const ComparedDifference*> differences_in(const Comparison& comparison,
                                                      const ComparedSection& section) {
  std::vector<const ComparedDifference*> differences;
  for (const std::size_t g : section.groups)
    for (const std::string& metric : comparison.metrics)
      if (const auto* one = find_difference(comparison, comparison.groups[g].group, metric))
        differences.push_back(one);
  return differences;
}

const ComparedRatio* find_ratio(const Comparison& comparison, const std::string& group,
                                const std::string& metric) {
  for (const ComparedRatio& ratio : comparison.ratios)
    if (ratio.group == group && ratio.metric == metric) return &ratio;
  return nullptr;
}

}  // namespace acid
