#include "reports/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"

namespace acid {
namespace {

/// Sums of all 2ᵏ choices of signs, ascending.
std::vector<double> signed_sums(std::span<const double> values) {
  std::vector<double> sums{0.0};
  for (const double value : values) {
    const std::size_t count = sums.size();
    sums.resize(2 * count);
    for (std::size_t k = 0; k < count; ++k) {
      sums[count + k] = sums[k] + value;
      sums[k] -= value;
    }
  }
  std::sort(sums.begin(), sums.end());
  return sums;
}

/// Share of the 2ⁿ sign patterns whose |sum| reaches the observed one. Patterns split into two
/// halves, and a half's sums are counted by binary search in the other's: n = 40 costs 2²⁰
/// searches. Ties must count as reached, hence the tolerance.
double sign_flip_p(std::span<const double> differences) {
  double observed = 0, scale = 0;
  for (const double d : differences) {
    observed += d;
    scale += std::abs(d);
  }
  const double threshold = std::abs(observed) - 1e-12 * scale;
  if (threshold <= 0) return 1.0;
  const std::size_t half = differences.size() / 2;
  const std::vector<double> left = signed_sums(differences.first(half));
  const std::vector<double> right = signed_sums(differences.subspan(half));
  double reached = 0;
  for (const double a : left) {
    const auto above = std::lower_bound(right.begin(), right.end(), threshold - a);
    const auto below = std::upper_bound(right.begin(), right.end(), -threshold - a);
    reached += static_cast<double>((right.end() - above) + (below - right.begin()));
  }
  return reached / std::exp2(static_cast<double>(differences.size()));
}

double median_of(std::span<const double> ascending) {
  const std::size_t middle = ascending.size() / 2;
  if (ascending.size() % 2 == 1) return ascending[middle];
  return (ascending[middle - 1] + ascending[middle]) / 2;
}

double interquartile_mean(std::span<const double> ascending) {
  const std::size_t cut = ascending.size() / 4;
  const auto kept = ascending.subspan(cut, ascending.size() - 2 * cut);
  return std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
}

/// The interquartile means of samples drawn from the values with replacement, ascending. The draws
/// are always the same: a comparison must not change from one look to the next.
std::vector<double> resampled_means(std::span<const double> ascending) {
  constexpr std::size_t kSamples = 2000;
  constexpr std::uint64_t kKey = 0x626f6f7473747261;  // "bootstra"
  Stream draws(kKey);
  std::vector<double> means(kSamples), sample(ascending.size());
  for (double& mean : means) {
    for (double& value : sample) value = ascending[draws.below(ascending.size())];
    std::sort(sample.begin(), sample.end());
    mean = interquartile_mean(sample);
  }
  std::sort(means.begin(), means.end());
  return means;
}

}  // namespace

Robust robust(std::span<const double> values) {
  const bool finite =
      std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  if (values.empty() || !finite) return {};
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  Robust result{.median = median_of(ascending), .iqm = {}, .iqm_low = {}, .iqm_high = {}};
  if (ascending.size() < kFewestForIqm) return result;
  const std::vector<double> means = resampled_means(ascending);
  const auto quantile = [&](double share) {
    return means[static_cast<std::size_t>(
        std::lround(share * static_cast<double>(means.size() - 1)))];
  };
  result.iqm = interquartile_mean(ascending);
  result.iqm_low = quantile(0.025);
  result.iqm_high = quantile(0.975);
  return result;
}

std::optional<double> chance_above(std::span<const double> a, std::span<const double> b) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (a.empty() || b.empty() || std::any_of(a.begin(), a.end(), is_nan) ||
      std::any_of(b.begin(), b.end(), is_nan))
    return std::nullopt;
  double above = 0;
  for (const double x : a)
    for (const double y : b) above += x > y ? 1 : x == y ? 0.5 : 0;
  return above / static_cast<double>(a.size() * b.size());
}

Estimate estimate(std::span<const double> values) {
  Estimate result;
  result.n = static_cast<int>(values.size());
  if (values.empty()) return result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / result.n;
  if (result.n < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.sd = std::sqrt(squares / (result.n - 1));
  result.se = *result.sd / std::sqrt(static_cast<double>(result.n));
  const double half_width = student_t_quantile(0.975, result.n - 1) * *result.se;
  result.ci_low = result.mean - half_width;
  result.ci_high = result.mean + half_width;
  return result;
}

PairedDifference paired_difference(std::span<const double> a, std::span<const double> b) {
  ACID_ASSERT(a.size() == b.size(), "{} values against {}", a.size(), b.size());
  std::vector<double> differences(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) differences[k] = a[k] - b[k];
  PairedDifference result;
  result.difference = estimate(differences);
  const bool finite = std::all_of(differences.begin(), differences.end(),
                                  [](double d) { return std::isfinite(d); });
  if (finite && a.size() >= 2 && a.size() <= kMaxExactPairs) result.p = sign_flip_p(differences);
  return result;
}

std::optional<PairedRatio> paired_ratio(std::span<const double> a, std::span<const double> b) {
  ACID_ASSERT(a.size() == b.size(), "{} values against {}", a.size(), b.size());
  if (a.empty()) return std::nullopt;
  const auto usable = [](double value) { return value > 0 && std::isfinite(value); };
  if (!std::all_of(a.begin(), a.end(), usable) || !std::all_of(b.begin(), b.end(), usable))
    return std::nullopt;
  std::vector<double> logs(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) logs[k] = std::log(a[k]) - std::log(b[k]);
  const Estimate e = estimate(logs);
  PairedRatio ratio{e.n, std::exp(e.mean), {}, {}};
  if (e.ci_low) ratio.ci_low = std::exp(*e.ci_low);
  if (e.ci_high) ratio.ci_high = std::exp(*e.ci_high);
  return ratio;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double factor = static_cast<double>(p.size() - rank);
    largest = std::max(largest, std::min(1.0, factor * p[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

double student_t_quantile(double probability, double degrees) {
  ACID_ASSERT(probability > 0 && probability < 1, "probability {}", probability);
  ACID_ASSERT(degrees > 0, "{} degrees of freedom", degrees);
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

double chi_squared_tail(double statistic, double degrees) {
  ACID_ASSERT(statistic >= 0, "statistic {}", statistic);
  ACID_ASSERT(degrees > 0, "{} degrees of freedom", degrees);
  return boost::math::cdf(complement(boost::math::chi_squared(degrees), statistic));
}

}  // namespace acid
