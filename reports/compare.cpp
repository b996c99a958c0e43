#include "reports/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/compare_notes.hpp"
#include "reports/grouping.hpp"
#include "reports/known_metrics.hpp"

namespace acid {
namespace {

constexpr std::array<std::string_view, 18> kDefaultMetrics{"eval_accuracy",
                                                           "eval_loss",
                                                           "train_loss_at_mean",
                                                           "worker_accuracy",
                                                           "worker_accuracy_worst",
                                                           "worker_loss",
                                                           "worker_loss_worst",
                                                           "train_loss",
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
constexpr std::array<std::string_view, 3> kFurtherMetrics{"exchanges_to_target",
                                                          "auc_eval_accuracy", "auc_eval_loss"};
constexpr std::array<std::string_view, 2> kRatioMetrics{"consensus_distance",
                                                        "consensus_distance_mid"};

std::vector<std::string> recorded_metrics(const Comparison& comparison) {
  std::set<std::string> names;
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs)
      for (const auto& [name, value] : run.metrics) names.insert(name);
  return {names.begin(), names.end()};
}

void choose_metrics(Comparison& comparison, const CompareOptions& options) {
  const std::vector<std::string> known = recorded_metrics(comparison);
  const auto is_known = [&](std::string_view name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  const bool has_target = std::ranges::any_of(comparison.groups, [&](const ComparedGroup& group) {
    return target_of(group.settings, options).has_value();
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
  if (!options.metrics.empty()) return;
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

/// The same where only their order counts: what was not reached was reached infinitely late.
std::vector<double> ordered_values_of(const ComparedGroup& group, const std::string& metric) {
  std::vector<double> values = values_of(group, metric);
  values.insert(values.end(), static_cast<std::size_t>(censored(group, metric)), INFINITY);
  return values;
}

void estimate_metrics(Comparison& comparison) {
  for (ComparedGroup& group : comparison.groups)
    for (const std::string& metric : comparison.metrics) {
      const std::vector<double> values = values_of(group, metric);
      if (values.empty()) continue;
      group.metrics[metric] = estimate(values);
      group.robust[metric] = robust(ordered_values_of(group, metric));
    }
}

std::optional<Chance> improvement(const ComparedGroup& group, const ComparedGroup& baseline,
                                  const std::string& metric) {
  const int better = better_direction(metric);
  if (better == 0) return std::nullopt;
  const std::vector<double> own = ordered_values_of(group, metric);
  const std::vector<double> other = ordered_values_of(baseline, metric);
  return better > 0 ? chance_above(own, other) : chance_above(other, own);
}

void find_differences(Comparison& comparison) {
  for (const std::string& metric : comparison.metrics) {
    const std::size_t first = comparison.differences.size();
    for (const ComparedPoint& point : comparison.points) {
      if (!point.baseline) continue;
      const ComparedGroup& baseline = comparison.groups[*point.baseline];
      for (const std::size_t g : point.groups) {
        if (g == *point.baseline) continue;
        const PairedValues pairs = paired_by_seed(comparison.groups[g], baseline, metric);
        if (pairs.a.empty()) continue;
        comparison.differences.push_back({comparison.groups[g].group, baseline.group, metric,
                                          paired_difference(pairs.a, pairs.b), std::nullopt,
                                          improvement(comparison.groups[g], baseline, metric)});
      }
    }
    std::vector<double> p;
    for (std::size_t k = first; k < comparison.differences.size(); ++k)
      if (comparison.differences[k].value.p) p.push_back(*comparison.differences[k].value.p);
    const std::vector<double> adjusted = holm(p);
    for (std::size_t k = first, next = 0; k < comparison.differences.size(); ++k)
      if (comparison.differences[k].value.p) comparison.differences[k].p_holm = adjusted[next++];
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
          comparison.ratios.push_back(
              {comparison.groups[g].group, comparison.groups[*reference].group, metric, *ratio});
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
    comparison.notes.push_back(fmt::format("no run of {} here: differences are to {}, the first",
                                           asked, comparison.baseline));
}

}  // namespace

PairedValues paired_by_seed(const ComparedGroup& a, const ComparedGroup& b,
                            const std::string& metric) {
  PairedValues values;
  for (const RunSummary& run : a.runs)
    for (const RunSummary& partner : b.runs) {
      if (run.seed != partner.seed) continue;
      const auto mine = run.metrics.find(metric), theirs = partner.metrics.find(metric);
      if (mine == run.metrics.end() || theirs == partner.metrics.end()) continue;
      values.a.push_back(mine->second);
      values.b.push_back(theirs->second);
    }
  return values;
}

Comparison compare_runs(const std::vector<ComparedRun>& runs, const CompareOptions& options) {
  if (runs.empty()) throw UsageError("there are no runs to compare; name some, or run a recipe");
  Comparison comparison;
  form_groups(comparison, runs);
  settle_baseline(comparison, options);
  form_points(comparison);
  form_sections(comparison, options.by);
  distinguish_labels(comparison);
  choose_metrics(comparison, options);
  estimate_metrics(comparison);
  find_differences(comparison);
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
  return static_cast<int>(std::ranges::count_if(
      group.runs, [&](const RunSummary& run) { return !run.metrics.contains(metric); }));
}

const ComparedDifference* find_difference(const Comparison& comparison, const std::string& group,
                                          const std::string& metric) {
  for (const ComparedDifference& difference : comparison.differences)
    if (difference.group == group && difference.metric == metric) return &difference;
  return nullptr;
}

const ComparedRatio* find_ratio(const Comparison& comparison, const std::string& group,
                                const std::string& metric) {
  for (const ComparedRatio& ratio : comparison.ratios)
    if (ratio.group == group && ratio.metric == metric) return &ratio;
  return nullptr;
}

}  // namespace acid
