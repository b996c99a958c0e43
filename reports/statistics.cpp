#include "reports/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

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

/// Share of the 2ⁿ sign patterns whose |sum| reaches the observed one or, of one side, whose sum
/// does. Patterns split into two halves, and a half's sums are counted by binary search in the
/// other's: n = 40 costs 2²⁰ searches. Ties must count as reached, hence the tolerance.
double sign_flip_p(std::span<const double> values, bool one_sided = false) {
  double sum = 0, scale = 0;
  for (const double value : values) {
    sum += value;
    scale += std::abs(value);
  }
  const double threshold = (one_sided ? sum : std::abs(sum)) - 1e-12 * scale;
  if (!one_sided && threshold <= 0) return 1.0;
  const std::size_t half = values.size() / 2;
  const std::vector<double> right = signed_sums(values.subspan(half));
  double reached = 0;
  for (const double a : signed_sums(values.first(half))) {
    const auto above = std::ranges::lower_bound(right, threshold - a);
    const auto below = one_sided ? right.begin() : std::ranges::upper_bound(right, -threshold - a);
    reached += static_cast<double>((right.end() - above) + (below - right.begin()));
  }
  return reached / std::exp2(static_cast<double>(values.size()));
}

/// The size of every difference as its rank among them, doubled so that mean ranks of ties are
/// whole, with the difference's sign. Zeros have none.
std::vector<int> doubled_signed_ranks(std::vector<double> differences) {
  std::erase(differences, 0.0);
  std::ranges::sort(differences, {}, [](double d) { return std::abs(d); });
  std::vector<int> ranks;
  for (std::size_t first = 0; first < differences.size();) {
    std::size_t last = first;
    while (last < differences.size() && std::abs(differences[last]) == std::abs(differences[first]))
      ++last;
    const int doubled = static_cast<int>(first + last + 1);  // of places first + 1 … last
    for (; first < last; ++first) ranks.push_back(differences[first] > 0 ? doubled : -doubled);
  }
  return ranks;
}

/// The distribution of the sum of the positive ranks over all 2ⁿ sign patterns: sums of whole
/// numbers are few.
std::vector<double> positive_sums(std::span<const int> ranks) {
  int total = 0;
  for (const int rank : ranks) total += std::abs(rank);
  std::vector<double> share(static_cast<std::size_t>(total) + 1, 0.0);
  share[0] = 1;
  int reached = 0;
  for (const int rank : ranks) {
    const int size = std::abs(rank);
    for (int sum = reached; sum >= 0; --sum) {
      double& here = share[static_cast<std::size_t>(sum)];
      here /= 2;
      share[static_cast<std::size_t>(sum + size)] += here;
    }
    reached += size;
  }
  return share;
}

/// Share of the 2ⁿ sign patterns whose |sum| reaches the observed one or, of one side, whose sum
/// does.
double signed_rank_p(std::span<const int> ranks, bool one_sided = false) {
  const std::vector<double> share = positive_sums(ranks);
  const int total = static_cast<int>(share.size()) - 1;
  const int observed = std::accumulate(ranks.begin(), ranks.end(), 0);
  double p = 0;
  for (int sum = 0; sum <= total; ++sum)
    if (one_sided ? 2 * sum - total >= observed : std::abs(2 * sum - total) >= std::abs(observed))
      p += share[static_cast<std::size_t>(sum)];
  return std::min(p, 1.0);
}

int sign_of(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

double median_of(std::span<const double> ascending) {
  const std::size_t middle = ascending.size() / 2;
  if (ascending.size() % 2 == 1) return ascending[middle];
  return (ascending[middle - 1] + ascending[middle]) / 2;
}

/// Draws one of `count` values `count` times, with replacement, and counts each. The draws are
/// always the same: a comparison must not change from one time to the next.
class Resampling {
 public:
  Resampling() : draws_(kKey) {}
  const std::vector<int>& draw(std::size_t count) {
    times_.assign(count, 0);
    for (std::size_t k = 0; k < count; ++k) ++times_[draws_.below(count)];
    return times_;
  }

 private:
  static constexpr std::uint64_t kKey = 0x626f6f7473747261;  // "bootstra"
  Stream draws_;
  std::vector<int> times_;
};

/// The interquartile mean of the ascending values, each taken so many times.
double interquartile_mean(std::span<const double> ascending, std::span<const int> times) {
  const std::size_t cut = ascending.size() / 4;
  std::size_t seen = 0;
  double sum = 0;
  for (std::size_t k = 0; k < ascending.size(); ++k) {
    const std::size_t from = std::max(seen, cut);
    seen += static_cast<std::size_t>(times[k]);
    const std::size_t to = std::min(seen, ascending.size() - cut);
    if (to > from) sum += static_cast<double>(to - from) * ascending[k];
  }
  return sum / static_cast<double>(ascending.size() - 2 * cut);
}

/// The middle 95 % of a bootstrap's results.
std::pair<double, double> percentile_interval(std::vector<double> found) {
  std::sort(found.begin(), found.end());
  const auto quantile = [&](double share) {
    return found[static_cast<std::size_t>(
        std::lround(share * static_cast<double>(found.size() - 1)))];
  };
  return {quantile(0.025), quantile(0.975)};
}

constexpr std::size_t kResamplings = 2000;

std::vector<double> ascending_copy(std::span<const double> values) {
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

bool any_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

/// a − b, zero if they differ by no more than the floor.
double difference_of(double a, double b, double floor) {
  return a == b ? 0 : beyond_floor(a - b, floor);
}

double floor_at(std::span<const double> floors, std::size_t k) {
  return floors.empty() ? 0 : floors[k];
}

/// How many of other values are below one, and how many are not above it: the rest tie with it.
struct Place {
  std::size_t below = 0, not_above = 0;
};

std::vector<Place> places_among(std::span<const double> ascending, std::span<const double> values,
                                const Floor& floor) {
  std::vector<Place> places;
  for (const double value : values) {
    const auto beyond = [&](double other) {
      return difference_of(value, other, floor ? floor(value, other) : 0);
    };
    const auto tied =
        std::ranges::partition_point(ascending, [&](double other) { return beyond(other) > 0; });
    const auto above = std::partition_point(tied, ascending.end(),
                                            [&](double other) { return beyond(other) >= 0; });
    places.push_back({static_cast<std::size_t>(tied - ascending.begin()),
                      static_cast<std::size_t>(above - ascending.begin())});
  }
  return places;
}

/// How many pairs (of 2: a tie counts 1) values at these places win, each taken so many times, as
/// are the others.
double doubled_wins(std::span<const Place> places, std::span<const int> times,
                    std::span<const int> others) {
  std::vector<double> before(others.size() + 1, 0.0);
  std::partial_sum(others.begin(), others.end(), before.begin() + 1);
  double wins = 0;
  for (std::size_t k = 0; k < places.size(); ++k)
    wins += times[k] * (before[places[k].below] + before[places[k].not_above]);
  return wins;
}

}  // namespace

Robust robust(std::span<const double> values) {
  Robust result;
  if (values.empty() || any_nan(values)) return result;
  const std::vector<double> ascending = ascending_copy(values);
  const double median = median_of(ascending);
  if (!std::isnan(median)) result.median = median;
  if (ascending.size() < kFewestForBootstrap) return result;
  Resampling resampling;
  std::vector<double> means(kResamplings);
  for (double& mean : means)
    mean = interquartile_mean(ascending, resampling.draw(ascending.size()));
  result.iqm = interquartile_mean(ascending, std::vector<int>(ascending.size(), 1));
  std::tie(result.iqm_low, result.iqm_high) = percentile_interval(std::move(means));
  return result;
}

double beyond_floor(double value, double floor) { return std::abs(value) <= floor ? 0 : value; }

std::optional<Chance> chance_above(std::span<const double> a, std::span<const double> b,
                                   const Floor& floor) {
  if (a.empty() || b.empty() || any_nan(a) || any_nan(b)) return std::nullopt;
  const std::vector<Place> own = places_among(ascending_copy(b), ascending_copy(a), floor);
  const double pairs = 2 * static_cast<double>(a.size()) * static_cast<double>(b.size());
  const std::vector<int> each_own(a.size(), 1), each_other(b.size(), 1);
  Chance chance{doubled_wins(own, each_own, each_other) / pairs, {}, {}};
  if (std::min(a.size(), b.size()) < kFewestForBootstrap) return chance;
  Resampling resampling;
  std::vector<double> found(kResamplings);
  for (double& share : found) {
    const std::vector<int> times = resampling.draw(a.size());
    share = doubled_wins(own, times, resampling.draw(b.size())) / pairs;
  }
  std::tie(chance.low, chance.high) = percentile_interval(std::move(found));
  return chance;
}

Estimate estimate(std::span<const double> values) {
  Estimate result;
  result.n = static_cast<int>(values.size());
  if (values.empty()) return result;
  // A sum of equal values need not be their multiple.
  const bool equal = std::ranges::adjacent_find(values, std::not_equal_to()) == values.end();
  result.mean =
      equal ? values.front() : std::accumulate(values.begin(), values.end(), 0.0) / result.n;
  if (result.n < 2) return result;
  double squares = 0, largest = 0;
  for (const double value : values) {
    squares += (value - result.mean) * (value - result.mean);
    largest = std::max(largest, std::abs(value - result.mean));
  }
  result.sd = std::sqrt(squares / (result.n - 1));
  constexpr double kLeast = 1e-290;  // smaller sums of squares are not exact
  if (largest > 0 && std::isfinite(largest) && !(squares >= kLeast && std::isfinite(squares))) {
    squares = 0;
    for (const double value : values) squares += std::pow((value - result.mean) / largest, 2);
    result.sd = largest * std::sqrt(squares / (result.n - 1));
  }
  result.se = *result.sd / std::sqrt(static_cast<double>(result.n));
  return at_level(result, kLevel);
}

Estimate at_level(Estimate estimate, double level) {
  if (!estimate.se) return estimate;
  const double half_width = student_t_quantile((1 + level) / 2, estimate.n - 1) * *estimate.se;
  estimate.ci_low = estimate.mean - half_width;
  estimate.ci_high = estimate.mean + half_width;
  return estimate;
}

std::string_view name_of(PairedTest test) {
  return test == PairedTest::sign_flip ? "sign-flip" : "signed-rank";
}

PairedTest test_of(std::span<const double> differences) {
  return differences.size() <= kMostSignFlips && all_finite(differences) ? PairedTest::sign_flip
                                                                         : PairedTest::signed_rank;
}

PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   std::span<const double> floors) {
  ACID_ASSERT(a.size() == b.size(), "{} values against {}", a.size(), b.size());
  ACID_ASSERT(floors.empty() || floors.size() == a.size(), "{} floors", floors.size());
  PairedDifference result;
  std::vector<double> differences(a.size()), measured;
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    differences[k] = difference_of(a[k], b[k], floor_at(floors, k));
    result.rounded += differences[k] == 0 && a[k] != b[k] ? 1 : 0;
    if (std::isinf(a[k]) || std::isinf(b[k])) continue;
    measured.push_back(a[k] - b[k]);
    largest = std::max({largest, std::abs(a[k]), std::abs(b[k])});
  }
  result.difference = estimate(measured);
  // Fractions such as 0.805 are rounded, so a sum of differences that cancel is not exactly 0.
  constexpr double kRounding = std::numeric_limits<double>::epsilon();
  if (std::abs(result.difference.mean) < kRounding * largest) result.difference.mean = 0;
  result.pairs = static_cast<int>(a.size());
  result.unequal = result.pairs - static_cast<int>(std::ranges::count(differences, 0.0));
  if (any_nan(differences)) return result;
  result.test = test_of(differences);
  const bool ranked = result.test == PairedTest::signed_rank;
  const std::vector<int> ranks = doubled_signed_ranks(differences);
  result.sign = sign_of(ranked ? std::accumulate(ranks.begin(), ranks.end(), 0.0)
                               : std::accumulate(differences.begin(), differences.end(), 0.0));
  if (a.size() >= 2) result.p = ranked ? signed_rank_p(ranks) : sign_flip_p(differences);
  return result;
}

std::optional<double> above_p(std::span<const double> values) {
  if (values.size() < 2 || any_nan(values)) return std::nullopt;
  if (test_of(values) == PairedTest::sign_flip) return sign_flip_p(values, true);
  return signed_rank_p(doubled_signed_ranks({values.begin(), values.end()}), true);
}

std::optional<double> equivalence_p(std::span<const double> a, std::span<const double> b,
                                    std::span<const double> margins,
                                    std::span<const double> floors) {
  ACID_ASSERT(a.size() == b.size() && a.size() == margins.size(), "{} values against {}", a.size(),
              b.size());
  ACID_ASSERT(floors.empty() || floors.size() == a.size(), "{} floors", floors.size());
  if (a.size() < 2 || !all_finite(a) || !all_finite(b)) return std::nullopt;
  std::vector<double> above(a.size()), below(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    above[k] = beyond_floor(margins[k] + (a[k] - b[k]), floor_at(floors, k));
    below[k] = beyond_floor(margins[k] - (a[k] - b[k]), floor_at(floors, k));
  }
  return std::max(*above_p(above), *above_p(below));
}

std::optional<PairedRatio> paired_ratio(std::span<const double> a, std::span<const double> b) {
  ACID_ASSERT(a.size() == b.size(), "{} values against {}", a.size(), b.size());
  std::vector<double> logs;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (std::isinf(a[k]) || std::isinf(b[k])) continue;
    if (!(a[k] > 0) || !(b[k] > 0)) return std::nullopt;
    logs.push_back(std::log(a[k]) - std::log(b[k]));
  }
  if (logs.empty()) return std::nullopt;
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
