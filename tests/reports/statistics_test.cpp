#include "reports/statistics.hpp"

#include <cmath>
#include <limits>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace acid;

TEST_CASE("Student's t quantiles equal the printed tables and the closed forms") {
  // One degree of freedom is Cauchy, tan(π(p − ½)); two have a closed form as well.
  CHECK(student_t_quantile(0.975, 1) == Approx(12.706204736).epsilon(1e-9));
  CHECK(student_t_quantile(0.975, 2) == Approx(4.302652730).epsilon(1e-9));
  CHECK(student_t_quantile(0.975, 4) == Approx(2.776445105).epsilon(1e-9));
  CHECK(student_t_quantile(0.975, 9) == Approx(2.262157163).epsilon(1e-9));
  CHECK(student_t_quantile(0.975, 1e6) == Approx(1.959966).epsilon(1e-6));
  CHECK(student_t_quantile(0.5, 3) == Approx(0).margin(1e-12));
  CHECK(student_t_quantile(0.1, 5) == Approx(-student_t_quantile(0.9, 5)));
  CHECK_THROWS_AS(student_t_quantile(1.0, 3), AssertionError);
  CHECK_THROWS_AS(student_t_quantile(0.9, 0), AssertionError);
}

TEST_CASE("the chi-squared tail equals its closed forms") {
  CHECK(chi_squared_tail(3.0, 2) == Approx(std::exp(-1.5)));
  CHECK(chi_squared_tail(1.96 * 1.96, 1) == Approx(0.0499957902).epsilon(1e-8));
  CHECK(chi_squared_tail(0, 5) == 1);
}

TEST_CASE("an estimate is mean, sd, standard error and t interval") {
  const Estimate e = estimate(std::vector<double>{1, 2, 3, 4, 5});
  CHECK(e.n == 5);
  CHECK(e.mean == Approx(3));
  CHECK(*e.sd == Approx(std::sqrt(2.5)));
  CHECK(*e.se == Approx(std::sqrt(0.5)));
  CHECK(*e.ci_low == Approx(3 - 2.776445105 * std::sqrt(0.5)));
  CHECK(*e.ci_high == Approx(3 + 2.776445105 * std::sqrt(0.5)));
}

TEST_CASE("one value has no interval, no value no mean") {
  const Estimate one = estimate(std::vector<double>{7});
  CHECK(one.mean == 7);
  CHECK_FALSE(one.sd);
  CHECK_FALSE(one.ci_low);
  CHECK(estimate({}).n == 0);
}

TEST_CASE("a value that is not finite is never left out silently") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(estimate(std::vector<double>{1, std::nan("")}).mean));
  CHECK(std::isinf(estimate(std::vector<double>{1, inf}).mean));
  const auto difference = paired_difference(std::vector<double>{1, inf}, std::vector<double>{0, 0});
  CHECK_FALSE(difference.p);
}

TEST_CASE("the median, and the interquartile mean where enough values are left to trim") {
  CHECK(*robust(std::vector<double>{3, 1, 2}).median == 2);
  CHECK(*robust(std::vector<double>{4, 1, 2, 10}).median == 3);
  CHECK_FALSE(robust({}).median);
  CHECK_FALSE(robust(std::vector<double>{1, 2, 3, 4, 5, 6, 7}).iqm);
  // As scipy.stats.trim_mean(values, 0.25): ⌊n/4⌋ from each end.
  CHECK(*robust(std::vector<double>{8, 1, 2, 3, 100, 5, 6, 7}).iqm ==
        Approx((3.0 + 5 + 6 + 7) / 4));
  CHECK(*robust(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).iqm == Approx(6));
  CHECK_FALSE(robust(std::vector<double>{1, 2, 3, 4, 5, 6, 7, std::nan("")}).median);
}

TEST_CASE("the bootstrap interval of the interquartile mean is that of all resamples") {
  // Of eight values, five 0 and three 1: k ones in a resample with probability binomial(8, 3/8),
  // and the middle four hold max(0, min(4, k − 2)) ones. P(k ≤ 2) = 0.384 > 0.025, so low = 0; and
  // P(k ≤ 5) = 0.9697 < 0.975 ≤ P(k ≤ 6), so high = 1.
  const Robust coin = robust(std::vector<double>{0, 1, 0, 1, 0, 1, 0, 0});
  CHECK(*coin.iqm == 0.25);
  CHECK(*coin.iqm_low == 0);
  CHECK(*coin.iqm_high == Approx(1).margin(0.2501));
  const Robust same = robust(std::vector<double>(9, 0.1));
  CHECK(*same.iqm_low == Approx(0.1));
  CHECK(*same.iqm_high == Approx(0.1));
  // Of n uniform values the trimmed mean has, for large n, the variance of a value clamped to the
  // middle half, times 4/n (its influence function, Huber 1981): in [¼, ¾] and beyond it.
  std::vector<double> uniform;
  for (int k = 0; k < 400; ++k) uniform.push_back((k + 0.5) / 400);
  const double middle = 2 * 0.25 * 0.25 * 0.25 / 3, tails = 2 * 0.25 * 0.25 * 0.25;
  const double sd = std::sqrt(4 * (middle + tails) / 400);
  const Robust many = robust(uniform);
  CHECK(*many.iqm == Approx(0.5));
  CHECK(*many.iqm_high - *many.iqm_low == Approx(2 * 1.96 * sd).epsilon(0.06));
  CHECK(*robust(uniform).iqm_low == *many.iqm_low);
}

TEST_CASE("the chance to be above counts pairs, ties by half") {
  const std::vector<double> a{1, 2, 3}, b{0, 2};
  CHECK(*chance_above(a, b) == Approx((3 + 0 + 0.5 + 1) / 6));
  CHECK(*chance_above(b, a) == Approx(1 - 4.5 / 6));
  CHECK(*chance_above(a, a) == 0.5);
  CHECK_FALSE(chance_above(a, {}));
  CHECK_FALSE(chance_above(a, std::vector<double>{std::nan("")}));
}

TEST_CASE("the smallest sign-flip p of n pairs is 2/2ⁿ") {
  for (const int n : {2, 3, 5, 6, 16, 20, 33, 40}) {
    const std::vector<double> a(static_cast<std::size_t>(n), 1.5), b(a.size(), 1.0);
    CHECK(*paired_difference(a, b).p == Approx(2 / std::exp2(n)));
  }
  CHECK_FALSE(paired_difference(std::vector<double>{2}, std::vector<double>{1}).p);
  const std::vector<double> many(kMaxExactPairs + 1, 1.0), none(many.size(), 0.0);
  CHECK_FALSE(paired_difference(many, none).p);
}

TEST_CASE("the sign-flip p counts every pattern that is as extreme") {
  // Differences 1, 2, 3, −1: sum 5. Of 16 patterns |±1 ±2 ±3 ±1| ≥ 5 holds for:
  // sums 7 (1), 5 (2) and their mirror images: 6 patterns.
  const std::vector<double> a{1, 2, 3, 0}, b{0, 0, 0, 1};
  CHECK(*paired_difference(a, b).p == Approx(6.0 / 16));
  const std::vector<double> same{4, 4, 4};
  CHECK(*paired_difference(same, same).p == 1);
}

TEST_CASE("Fisher's reanalysis of Darwin's maize gives p = 1726/32768") {
  // Differences in eighths of an inch (Fisher, The Design of Experiments, §21).
  const std::vector<double> d{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
  const std::vector<double> zero(d.size(), 0.0);
  const PairedDifference result = paired_difference(d, zero);
  CHECK(*result.p == Approx(1726.0 / 32768).epsilon(1e-12));
  CHECK(result.difference.mean == Approx(314.0 / 15));
}

TEST_CASE("a paired ratio is the geometric mean with the interval of the logarithms") {
  const std::vector<double> a{2, 8}, b{1, 2};
  const auto ratio = paired_ratio(a, b);
  REQUIRE(ratio);
  CHECK(ratio->n == 2);
  CHECK(ratio->mean == Approx(std::sqrt(8.0)));
  const double half = 12.706204736 * std::log(2) / 2;  // sd of log 2, log 4 over √2
  CHECK(*ratio->ci_low == Approx(std::sqrt(8.0) * std::exp(-half)));
  CHECK(*ratio->ci_high == Approx(std::sqrt(8.0) * std::exp(half)));
  CHECK_FALSE(paired_ratio(std::vector<double>{0.0}, std::vector<double>{1.0}));
  CHECK_FALSE(paired_ratio({}, {}));
}

TEST_CASE("Holm's adjustment steps down, keeps the order given and stops at one") {
  const std::vector<double> adjusted = holm(std::vector<double>{0.01, 0.04, 0.03, 0.005});
  CHECK(adjusted[0] == Approx(0.03));
  CHECK(adjusted[1] == Approx(0.06));
  CHECK(adjusted[2] == Approx(0.06));
  CHECK(adjusted[3] == Approx(0.02));
  CHECK(holm(std::vector<double>{0.6, 0.7})[0] == 1);
  CHECK(holm({}).empty());
}
