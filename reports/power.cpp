#include "reports/power.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>
#include <numbers>

#include "engine/base/error.hpp"
#include "reports/comparison.hpp"
#include "reports/equal_places.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

constexpr double kLargestP = ComparedDifference::kSignificance;

/// In standard deviations: anything further away is equally certain.
constexpr double kFarAway = 20, kFarAwayOfMean = 100;
using ShiftedT = boost::math::non_central_t_distribution<
    double, boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

/// Chance that Student's t of n pairs is above its quantile of that one-sided level.
double one_sided_power(double n, double effect, double level) {
  const double degrees = n - 1;
  const double least = student_t_quantile(1 - level, degrees);
  const ShiftedT shifted(degrees,
                         std::min(std::min(effect, kFarAway) * std::sqrt(n), kFarAwayOfMean));
  return std::clamp(boost::math::cdf(boost::math::complement(shifted, least)), 0.0, 1.0);
}

/// The power of the exact one-sided test, whose p are multiples of `step`. A two-sided test has the
/// same power, because its other side shows only what is not true.
double exact_power(int pairs, double effect, double level, double step) {
  const double steps = std::floor(level / step * (1 + 1e-12));
  if (pairs < 2 || steps < 1) return 0;
  if (pairs > kMostSignFlips) return one_sided_power(pairs * 3 / std::numbers::pi, effect, level);
  const double all_of_one_sign = std::pow(boost::math::cdf(boost::math::normal(), effect), pairs);
  const double excess = one_sided_power(pairs, effect, step) - all_of_one_sign;
  return std::clamp(one_sided_power(pairs, effect, steps * step) - excess / steps, 0.0, 1.0);
}

/// The first number of pairs that has power, which grows with it.
std::optional<int> first_with(const std::function<bool(int)>& has_power) {
  int below = 1, enough = 2;
  while (!has_power(enough)) {
    if (enough == kMostPlannedSeeds) return std::nullopt;
    below = enough;
    enough = std::min(2 * enough, kMostPlannedSeeds);
  }
  while (enough - below > 1) {
    const int middle = below + (enough - below) / 2;
    (has_power(middle) ? enough : below) = middle;
  }
  return enough;
}

}  // namespace

double smallest_p(int pairs) { return std::min(1.0, 2 / std::exp2(pairs)); }

namespace {

/// `sides` of a test that has a p of 1/2ⁿ on each.
int seeds_needed_for(std::size_t comparisons, double sides) {
  ACID_ASSERT(comparisons > 0, "a family of {}", comparisons);
  int pairs = 2;
  while (sides / std::exp2(pairs) * static_cast<double>(comparisons) > kLargestP) ++pairs;
  return pairs;
}

}  // namespace

int seeds_needed(std::size_t comparisons) { return seeds_needed_for(comparisons, 2); }

int seeds_needed_within(std::size_t comparisons) { return seeds_needed_for(comparisons, 1); }

std::size_t family_size(const Comparison& comparison) {
  std::size_t most = 1;
  for (const ComparedDifference& difference : comparison.differences)
    if (comparison.primary.empty() || is_claim(comparison, difference.metric))
      most = std::max(most, static_cast<std::size_t>(difference.family));
  return most;
}

double power_of(int pairs, double effect, std::size_t comparisons) {
  const double level = kLargestP / static_cast<double>(comparisons);
  return exact_power(pairs, std::abs(effect), level / 2, smallest_p(pairs) / 2);
}

double one_sided_power_of(int pairs, double effect, double level) {
  return exact_power(pairs, effect, level, smallest_p(pairs) / 2);
}

double power_at_each(int pairs, const std::vector<std::vector<double>>& settings, double level) {
  double power = 1;
  for (const std::vector<double>& sides : settings) {
    double missed = 0;
    for (const double effect : sides) missed += 1 - one_sided_power_of(pairs, effect, level);
    power *= std::max(0.0, 1 - missed);
  }
  return power;
}

std::optional<int> seeds_to_show(double effect, std::size_t comparisons, double power) {
  if (!std::isfinite(effect) || effect == 0) return std::nullopt;
  return first_with([&](int pairs) { return power_of(pairs, effect, comparisons) >= power; });
}

namespace {

/// Whether the observed spread tells what more seeds will do.
bool has_known_spread(const ComparedDifference& difference) {
  constexpr int kFewestPairs = 3;
  const PairedDifference& value = difference.value;
  const Estimate& e = value.difference;
  const std::string_view metric = base_metric(difference.metric);
  return (is_outcome(metric) || is_way_to_target(metric)) && value.p && value.unequal > 0 &&
         e.n == value.pairs && e.n >= kFewestPairs && *e.sd > 0;
}

std::optional<int> if_more(std::optional<int> needed, const ComparedDifference& difference) {
  return needed && *needed > difference.value.pairs ? needed : std::nullopt;
}

}  // namespace

std::optional<int> seeds_to_show(const ComparedDifference& difference) {
  const Judgement judgement = judge(difference);
  const bool shown = judgement == Judgement::better || judgement == Judgement::worse;
  if (shown || !has_known_spread(difference)) return std::nullopt;
  const Estimate& e = difference.value.difference;
  return if_more(seeds_to_show(e.mean / *e.sd, static_cast<std::size_t>(difference.family)),
                 difference);
}

std::optional<int> seeds_to_show_equivalent(const ComparedDifference& difference) {
  const auto& equivalence = difference.equivalence;
  const bool shown = is_equivalent(difference);
  if (shown || !equivalence || !equivalence->p || !has_known_spread(difference) ||
      equivalence->size <= difference.rounding)
    return std::nullopt;
  const Estimate& e = difference.value.difference;
  if (difference.hidden > 0 && equivalence->size - std::abs(e.mean) <= difference.hidden)
    return std::nullopt;
  return if_more(seeds_to_show_within(equivalence->size, e.mean, *e.sd,
                                      static_cast<std::size_t>(difference.family)),
                 difference);
}

std::string more_seeds_words(const ComparedDifference& difference) {
  if (!difference.seeds_to_show) return "";
  return fmt::format("; if it is what was seen, {} seeds, {} more, show it with {:.0f} % power",
                     *difference.seeds_to_show, *difference.seeds_to_show - difference.value.pairs,
                     100 * kPower);
}

std::optional<double> effect_shown(int pairs, std::size_t comparisons, double power) {
  constexpr double kLargestEffect = 100;
  if (pairs < seeds_needed(comparisons)) return std::nullopt;
  double low = 0, high = kLargestEffect;
  while (high - low > 1e-4 * high)
    (power_of(pairs, (low + high) / 2, comparisons) >= power ? high : low) = (low + high) / 2;
  return high;
}

std::optional<int> seeds_to_show_within(double margin, double difference, double sd,
                                        std::size_t comparisons, double power) {
  if (!std::isfinite(difference) || !(sd > 0) || !(std::abs(difference) < margin))
    return std::nullopt;
  const double level = kLargestP / static_cast<double>(comparisons);
  const std::vector<double> sides{(margin - difference) / sd, (margin + difference) / sd};
  return first_with([&](int pairs) { return power_at_each(pairs, {sides}, level) >= power; });
}

}  // namespace acid
