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
