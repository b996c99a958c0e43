#include "reports/differences.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "reports/compare.hpp"
#include "reports/compare_notes.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/power.hpp"
#include "reports/primary.hpp"

namespace acid {
namespace {

std::vector<double> values_of(const ComparedGroup& group, const std::string& metric) {
  std::vector<double> values;
  for (const RunSummary& run : group.runs)
    if (const auto found = run.metrics.find(metric); found != run.metrics.end())
      values.push_back(found->second);
  return values;
}

/// The same if only the order of values counts.
std::vector<double> outcomes_of(const ComparedGroup& group, const std::string& metric) {
  std::vector<double> values;
  for (const std::uint64_t seed : group.seeds())
    if (const auto value = outcome_of(group, seed, metric)) values.push_back(*value);
  return values;
}

}  // namespace

void estimate_metrics(Comparison& comparison, const std::vector<std::string>& metrics) {
  for (ComparedGroup& group : comparison.groups)
    for (const std::string& metric : metrics) {
      const std::vector<double> values = values_of(group, metric);
      if (!values.empty() && censored(group, metric) == 0) group.metrics[metric] = estimate(values);
      if (const std::vector<double> outcomes = outcomes_of(group, metric); !outcomes.empty())
        group.robust[metric] = robust(outcomes);
    }
}

namespace {

std::optional<Chance> improvement(const ComparedGroup& group, const ComparedGroup& baseline,
                                  const std::string& metric) {
  const int better = better_direction(metric);
  if (better == 0) return std::nullopt;
  const std::vector<double> own = outcomes_of(group, metric);
  const std::vector<double> other = outcomes_of(baseline, metric);
  const auto floor = [&](double x, double y) {
    return floor_between(group, baseline, metric, x, y);
  };
  return better > 0 ? chance_above(own, other, floor) : chance_above(other, own, floor);
}

/// A total that the budget or the graph fixes is not random, so that no test makes sense.
bool is_fixed_total(const ComparedGroup& group, const std::string& metric) {
  if (better_direction(metric) != 0 && !is_counted(metric)) return false;
  const std::vector<double> values = values_of(group, metric);
  return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
}

void keep_floor(ComparedDifference& difference, const PairedValues& pairs) {
  for (std::size_t k = 0; k < pairs.floors.size(); ++k) {
    const double value = std::max(std::abs(pairs.a[k]), std::abs(pairs.b[k]));
    if (pairs.floors[k] < difference.rounding) continue;
    difference.rounding = pairs.floors[k];
    difference.rounding_share = value > 0 ? pairs.floors[k] / value : 0;
  }
}

/// Tests equivalence, without Holm's correction.
void test_equivalence(const Comparison& comparison, const PairedValues& pairs,
                      ComparedDifference& difference) {
  const auto margin = comparison.plan.margins.find(std::string(base_metric(difference.metric)));
  if (margin == comparison.plan.margins.end()) return;
  std::vector<double> sizes;
  for (const double baseline : pairs.b)
    if (std::isfinite(baseline)) sizes.push_back(margin->second.of(baseline));
  auto& equivalence = difference.equivalence.emplace(
      ComparedDifference::Equivalence{margin->second, 0, {}, {}, {}});
  if (!sizes.empty()) equivalence.size = estimate(sizes).mean;
  if (sizes.size() == pairs.b.size())
    equivalence.p = equivalence_p(pairs.a, pairs.b, sizes, pairs.floors);
  // Lines between samples that may be wrong by what is left to the margin show no equivalence.
  const double left = equivalence.size - std::abs(difference.value.difference.mean);
  if (equivalence.p && pairs.hidden > 0 && !(left > pairs.hidden)) equivalence.p = 1;
}

}  // namespace

bool always_agrees(const ComparedGroup& group, const std::string& metric) {
  if (!is_consensus(metric)) return false;
  const std::vector<double> values = values_of(group, metric);
  return !values.empty() && std::ranges::all_of(values, [](double value) { return value == 0; });
}

void find_differences(Comparison& comparison, const std::vector<std::string>& metrics) {
  for (const std::string& metric : metrics)
    for (const ComparedPoint& point : comparison.points) {
      const std::optional<std::size_t> place = baseline_for(point, metric);
      if (!place || (is_to_target(metric) && point.targets_differ)) continue;
      const ComparedGroup& baseline = comparison.groups[*place];
      for (const std::size_t g : point.groups) {
        if (g == *place) continue;
        const ComparedGroup& group = comparison.groups[g];
        if (always_agrees(baseline, metric) || always_agrees(group, metric)) continue;
        const PairedValues pairs = paired_by_seed(group, baseline, metric);
        if (pairs.a.empty()) continue;
        ComparedDifference difference;
        difference.group = group.group;
        difference.baseline = baseline.group;
        difference.metric = metric;
        difference.value = tested(pairs);
        difference.hidden = pairs.hidden;
        difference.unordered = pairs.unordered;
        for (std::size_t k = 0; k < pairs.a.size(); ++k)
          difference.both_missed += std::isinf(pairs.a[k]) && std::isinf(pairs.b[k]) ? 1 : 0;
        keep_floor(difference, pairs);
        if (is_fixed_total(baseline, metric)) difference.value.p.reset();
        test_equivalence(comparison, pairs, difference);
        if (censored(group, metric) + censored(baseline, metric) > 0)
          difference.value.difference = {};
        difference.diverged = diverged_beside(group, baseline);
        difference.baseline_diverged = diverged_beside(baseline, group);
        if (pairs.unordered == 0) difference.improvement = improvement(group, baseline, metric);
        comparison.differences.push_back(std::move(difference));
      }
    }
}

namespace {

/// Over the same comparisons; those that cannot be tested are counted.
void adjust_equivalences(std::span<ComparedDifference* const> family) {
  std::vector<double> p;
  for (const ComparedDifference* one : family)
    if (one->value.p) p.push_back(one->equivalence ? one->equivalence->p.value_or(1) : 1);
  const std::vector<double> adjusted = holm(p);
  std::size_t next = 0;
  for (ComparedDifference* one : family) {
    if (!one->value.p) continue;
    if (one->equivalence && one->equivalence->p) {
      one->equivalence->p_holm = adjusted[next];
      one->equivalence->seeds_to_show = seeds_to_show_equivalent(*one);
    }
    ++next;
  }
}

/// Holm's p and simultaneous intervals.
void adjust_family(std::span<ComparedDifference* const> family) {
  std::vector<double> p, smallest;
  for (const ComparedDifference* one : family)
    if (one->value.p) {
      p.push_back(*one->value.p);
      smallest.push_back(smallest_p(one->value.pairs));
    }
  const std::vector<double> adjusted = holm(p), adjusted_smallest = holm(smallest);
  std::size_t next = 0;
  for (ComparedDifference* one : family) {
    one->family = std::max(1, static_cast<int>(p.size()));
    one->simultaneous = at_level(one->value.difference, 1 - (1 - kLevel) / one->family);
    if (!one->value.p) continue;
    one->p_holm = adjusted[next];
    one->smallest_p_holm = adjusted_smallest[next++];
    if (!one->is_hidden()) one->seeds_to_show = seeds_to_show(*one);
  }
  adjust_equivalences(family);
}

}  // namespace

void adjust_differences(Comparison& comparison) {
  std::map<std::string, std::vector<ComparedDifference*>> families;
  for (ComparedDifference& one : comparison.differences)
    families[is_claim(comparison, one.metric) ? comparison.primary : one.metric].push_back(&one);
  for (const auto& [metric, family] : families) adjust_family(family);
}

namespace {

bool all_positive(const ComparedGroup& group, const std::string& metric) {
  const auto usable = [&](const RunSummary& run) {
    const auto found = run.metrics.find(metric);
    return found != run.metrics.end() && found->second > 0 && std::isfinite(found->second);
  };
  return !group.runs.empty() && std::all_of(group.runs.begin(), group.runs.end(), usable);
}

}  // namespace

void find_ratios(Comparison& comparison) {
  for (const std::string& metric : comparison.metrics) {
    if (!is_consensus(metric)) continue;
    for (const ComparedPoint& point : comparison.points) {
      std::vector<std::size_t> order = point.groups;
      if (point.baseline) order.insert(order.begin(), *point.baseline);
      if (point.consensus_baseline) order.insert(order.begin(), *point.consensus_baseline);
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

}  // namespace acid
