#include "reports/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"
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
  // Squares that no double holds.
  for (const double unit : {1e-300, 1e300}) {
    const Estimate scaled = estimate(std::vector<double>{1 * unit, 2 * unit, 3 * unit});
    CHECK(*scaled.sd == Approx(unit).epsilon(1e-12));
  }
}

TEST_CASE("equal values have no deviation, and their mean is they") {
  const Estimate e = estimate(std::vector<double>(8, 0.1));
  CHECK(e.mean == 0.1);
  CHECK(*e.sd == 0);
  CHECK(*e.ci_low == 0.1);
}

TEST_CASE("a value that is not finite is never left out silently") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(estimate(std::vector<double>{1, std::nan("")}).mean));
  CHECK(std::isinf(estimate(std::vector<double>{1, inf}).mean));
  const std::vector<double> zeros{0, 0};
  CHECK_FALSE(paired_difference(std::vector<double>{1, std::nan("")}, zeros).p);
  const PairedDifference one = paired_difference(std::vector<double>{1, inf}, zeros);
  CHECK(one.pairs == 2);
  CHECK(one.difference.n == 1);
  CHECK(*one.p == 0.5);
}

TEST_CASE("the median, and the interquartile mean where enough values are left to trim") {
  CHECK(*robust(std::vector<double>{3, 1, 2}).median == 2);
  CHECK(*robust(std::vector<double>{4, 1, 2, 10}).median == 3);
  CHECK_FALSE(robust({}).median);
  CHECK_FALSE(robust(std::vector<double>{1, 2, 3, 4, 5, 6, 7}).iqm);
  // Like scipy.stats.trim_mean(values, 0.25): ⌊n/4⌋ from each end.
  CHECK(*robust(std::vector<double>{8, 1, 2, 3, 100, 5, 6, 7}).iqm ==
        Approx((3.0 + 5 + 6 + 7) / 4));
  CHECK(*robust(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).iqm == Approx(6));
  CHECK_FALSE(robust(std::vector<double>{1, 2, 3, 4, 5, 6, 7, std::nan("")}).median);
}

TEST_CASE("the bootstrap interval of the interquartile mean is that of all resamples") {
  // Eight values, five 0 and three 1: k ones in a resample with probability binomial(8, 3/8), and
  // the middle four hold max(0, min(4, k − 2)) ones. P(k ≤ 2) = 0.384 > 0.025, so low = 0; and P(k
  // ≤ 5) = 0.9697 < 0.975 ≤ P(k ≤ 6), so high = 1.
  const Robust coin = robust(std::vector<double>{0, 1, 0, 1, 0, 1, 0, 0});
  CHECK(*coin.iqm == 0.25);
  CHECK(*coin.iqm_low == 0);
  CHECK(*coin.iqm_high == Approx(1).margin(0.2501));
  const Robust same = robust(std::vector<double>(9, 0.1));
  CHECK(*same.iqm_low == Approx(0.1));
  CHECK(*same.iqm_high == Approx(0.1));
  // The trimmed mean of n uniform values has, for large n, the variance of a value clamped to the
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
  CHECK(chance_above(a, b)->value == Approx((3 + 0 + 0.5 + 1) / 6));
  CHECK(chance_above(b, a)->value == Approx(1 - 4.5 / 6));
  CHECK(chance_above(a, a)->value == 0.5);
  CHECK_FALSE(chance_above(a, b)->low);
  CHECK_FALSE(chance_above(a, {}));
  CHECK_FALSE(chance_above(a, std::vector<double>{std::nan("")}));
}

TEST_CASE("values within their floor tie in the chance to be above, and in its interval") {
  const auto floor = [](double a, double b) { return 0.06 * std::max(a, b); };
  const std::vector<double> a{1, 2, 3}, b{1.05, 2, 4};
  CHECK(chance_above(a, b)->value == Approx((0 + 1.5 + 2) / 9));
  CHECK(chance_above(a, b, floor)->value == Approx((0.5 + 1.5 + 2) / 9));
  CHECK(chance_above(b, a, floor)->value == Approx(5.0 / 9));
  std::vector<double> same, moved;
  for (int k = 0; k < 9; ++k) same.push_back(1 + 0.001 * k);
  for (const double value : same) moved.push_back(value + 1e-4);
  const auto tie = chance_above(moved, same, floor);
  CHECK(tie->value == 0.5);
  CHECK(*tie->low == 0.5);
  CHECK(*tie->high == 0.5);
}

TEST_CASE("the chance's interval is that of resampling both sides") {
  // Half of either side's eight values are 1: with X and Y binomial(8, ½) ones, the chance is
  // ½ + (X − Y)/16, and X − Y + 8 is binomial(16, ½): P(≤ 3) = 0.011, P(≤ 4) = 0.038.
  const std::vector<double> coin{0, 0, 0, 0, 1, 1, 1, 1};
  const auto even = chance_above(coin, coin);
  CHECK(even->value == 0.5);
  CHECK(*even->low == 0.25);
  CHECK(*even->high == 0.75);
  // Three values with ties: all pairs of multinomial resamples, weighted, give 0.40625 and 0.90625.
  const std::vector<double> a{0, 0, 1, 1, 1, 2, 2, 2}, b{0, 0, 0, 0, 1, 1, 1, 2};
  const auto chance = chance_above(a, b);
  CHECK(chance->value == 0.671875);
  CHECK(*chance->low == Approx(0.40625).margin(0.02));
  CHECK(*chance->high == Approx(0.90625).margin(0.02));
  CHECK(*chance_above(a, b)->low == *chance->low);
  // No width where nothing overlaps, also with runs that never arrived.
  const std::vector<double> late(8, std::numeric_limits<double>::infinity());
  CHECK(chance_above(late, a)->value == 1);
  CHECK(*chance_above(late, a)->low == 1);
  CHECK(chance_above(late, late)->value == 0.5);
  CHECK_FALSE(chance_above(a, std::vector<double>{0, 0, 0, 0, 1, 1, 2})->high);
}

TEST_CASE("sd, standard error and t interval of 2, 3, 5 and 10 values equal a second computation") {
  // math.fsum in Python over the same values, with t from the printed table.
  const std::vector<double> all{0.912, 0.934, 0.905, 0.921, 0.948,
                                0.917, 0.929, 0.940, 0.903, 0.926};
  struct Expected {
    std::size_t n;
    double mean, sd, se, low, high;
  };
  for (const Expected& expected :
       {Expected{2, 0.923, 0.01555634918610406, 0.011, 0.7832317479, 1.0627682521},
        Expected{3, 0.917, 0.015132745950421569, 0.008736894948054113, 0.8794081752, 0.9545918248},
        Expected{5, 0.924, 0.017248188310660315, 0.00771362431027074, 0.9025835455, 0.9454164545},
        Expected{10, 0.9235, 0.014766704288891106, 0.00466964190870729, 0.9129365361,
                 0.9340634639}}) {
    const Estimate e = estimate(std::span(all).first(expected.n));
    CHECK(e.mean == Approx(expected.mean).epsilon(1e-12));
    CHECK(*e.sd == Approx(expected.sd).epsilon(1e-10));
    CHECK(*e.se == Approx(expected.se).epsilon(1e-10));
    CHECK(*e.ci_low == Approx(expected.low).epsilon(1e-9));
    CHECK(*e.ci_high == Approx(expected.high).epsilon(1e-9));
  }
}

TEST_CASE("the sign-flip p equals counting all patterns, for any number of pairs") {
  std::uint64_t state = 12345;
  const auto next = [&] {  // halves, so that ties are frequent and sums exact
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(static_cast<std::int64_t>(state >> 60) - 7) / 2;
  };
  for (std::size_t n = 2; n <= 13; ++n) {
    std::vector<double> d(n);
    for (double& one : d) one = next();
    double observed = 0;
    for (const double one : d) observed += one;
    std::size_t reached = 0;
    for (std::size_t pattern = 0; pattern < (std::size_t{1} << n); ++pattern) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += (pattern >> k & 1) != 0 ? d[k] : -d[k];
      reached += std::abs(sum) >= std::abs(observed) ? 1 : 0;
    }
    INFO("n = " << n);
    CHECK(*paired_difference(d, std::vector<double>(n, 0.0)).p ==
          Approx(static_cast<double>(reached) / std::exp2(n)).epsilon(1e-12));
  }
  const std::vector<double> same{4, 4, 4};
  CHECK(*paired_difference(same, same).p == 1);
}

TEST_CASE("the interquartile mean of 8, 9, 10 and 12 values cuts 2, 2, 2 and 3 from each end") {
  const std::vector<double> all{3.1,  -7.5, 12.25, 0.5, 8.0, 100.0,
                                -1.5, 6.25, 4.75,  2.0, 9.5, -60.0};
  const auto iqm = [&](std::size_t n) { return *robust(std::span(all).first(n)).iqm; };
  CHECK(iqm(8) == Approx((0.5 + 3.1 + 6.25 + 8) / 4));
  CHECK(iqm(9) == Approx((0.5 + 3.1 + 4.75 + 6.25 + 8) / 5));
  CHECK(iqm(10) == Approx((0.5 + 2 + 3.1 + 4.75 + 6.25 + 8) / 6));
  CHECK(iqm(12) == Approx((0.5 + 2 + 3.1 + 4.75 + 6.25 + 8) / 6));
}

TEST_CASE("the median counts what never came as later than anything") {
  const double never = std::numeric_limits<double>::infinity();
  CHECK(*robust(std::vector<double>{3, never, 1}).median == 3);
  CHECK(std::isinf(*robust(std::vector<double>{3, never, never}).median));
  CHECK(std::isinf(*robust(std::vector<double>{3, never}).median));
  std::vector<double> nine{1, 2, 3, 4, 5, 6, 7, 8, never};
  CHECK(*robust(nine).median == 5);
  CHECK(*robust(nine).iqm == 5);
  CHECK(std::isinf(*robust(std::vector<double>{1, 2, 3, 4, 5, never, never, never}).iqm));
}

TEST_CASE("the smallest sign-flip p of n pairs is 2/2ⁿ", "[release]") {
  for (const int n : {2, 3, 5, 6, 16, 20, 33, 40}) {
    const std::vector<double> a(static_cast<std::size_t>(n), 1.5), b(a.size(), 1.0);
    CHECK(*paired_difference(a, b).p == Approx(2 / std::exp2(n)));
  }
  CHECK_FALSE(paired_difference(std::vector<double>{2}, std::vector<double>{1}).p);
  const std::vector<double> many(kMostSignFlips + 1, 1.0), none(many.size(), 0.0);
  CHECK(*paired_difference(many, none).p == Approx(std::exp2(-kMostSignFlips)));
  CHECK(paired_difference(many, none).test == PairedTest::signed_rank);
}

TEST_CASE("the signed-rank p equals counting all patterns, with ties, zeros and infinities") {
  const double inf = std::numeric_limits<double>::infinity();
  // Differences 1, 2, 0, −2, −∞, ∞, 0: the zeros have no rank, both of size 2 have 2.5, both
  // infinite ones 4.5.
  const std::vector<double> a{1, 2, 0, 2, -inf, inf, 7}, b{0, 0, 0, 4, 3, 3, 7};
  const PairedDifference result = paired_difference(a, b);
  REQUIRE(result.test == PairedTest::signed_rank);
  CHECK(result.unequal == 5);
  CHECK(result.difference.n == 5);
  const double observed = 1 + 2.5 - 2.5 - 4.5 + 4.5;
  int reached = 0;
  for (unsigned pattern = 0; pattern < 32; ++pattern) {
    double sum = 0;
    for (unsigned k = 0; k < 5; ++k)
      sum += ((pattern >> k) & 1 ? 1 : -1) * (k == 0 ? 1 : k < 3 ? 2.5 : 4.5);
    reached += std::abs(sum) >= observed;
  }
  CHECK(*result.p == Approx(reached / 32.0));
  CHECK(result.sign == 1);
  // Two that diverged are equal; infinities of one sign everywhere leave the smallest p.
  CHECK(paired_difference(std::vector<double>{inf, 1}, std::vector<double>{inf, 2}).unequal == 1);
  const std::vector<double> lost(10, -inf), kept(10, 1.0);
  CHECK(*paired_difference(lost, kept).p == Approx(2 / 1024.0));
  // Wilcoxon's table: n = 10 without ties, smaller rank sum 8 has p = 0.04883 (two-sided).
  const std::vector<double> table{-1, 2, 3, 4, 5, 6, -7, 8, 9, inf}, none(10, 0.0);
  CHECK(*paired_difference(table, none).p == Approx(0.048828125));
}

TEST_CASE("values that differ by no more than their floor are equal, whatever their size") {
  const std::vector<double> a{1e9, 1e-9, 3, 4}, b{1e9 + 1, 1.0000001e-9, 3.1, 4};
  const PairedDifference floored =
      paired_difference(a, b, std::vector<double>{1e3, 1e-15, 0.05, 1});
  CHECK(floored.unequal == 1);
  CHECK(floored.rounded == 2);
  CHECK(paired_difference(a, b).unequal == 3);
  CHECK(paired_difference(a, b).rounded == 0);
}

TEST_CASE("the p of equivalence is the larger share of sign patterns of two shifted samples") {
  Stream stream(17);
  for (const std::size_t n : {2U, 3U, 7U, 12U})
    for (int repetition = 0; repetition < 5; ++repetition) {
      std::vector<double> a(n), b(n), margins(n);
      for (std::size_t k = 0; k < n; ++k) {
        a[k] = stream.normal();
        b[k] = stream.normal();
        margins[k] = 0.5 + 0.1 * static_cast<double>(k);
      }
      double larger = 0;
      for (const int side : {1, -1}) {
        double observed = 0;
        for (std::size_t k = 0; k < n; ++k) observed += margins[k] + side * (a[k] - b[k]);
        int reached = 0;
        for (unsigned pattern = 0; pattern < 1U << n; ++pattern) {
          double sum = 0;
          for (std::size_t k = 0; k < n; ++k)
            sum += ((pattern >> k) & 1U ? 1 : -1) * (margins[k] + side * (a[k] - b[k]));
          reached += sum >= observed - 1e-9;
        }
        larger = std::max(larger, reached / std::exp2(static_cast<double>(n)));
      }
      INFO(n << " pairs");
      CHECK(*equivalence_p(a, b, margins) == Approx(larger));
    }
  const std::vector<double> one{1}, many(50, 1.0), margins(50, 0.1);
  CHECK_FALSE(equivalence_p(one, one, one));
  CHECK_FALSE(equivalence_p(std::vector<double>{1, INFINITY}, std::vector<double>{1, 2},
                            std::vector<double>{1, 1}));
  CHECK(*equivalence_p(many, many, margins) < 1e-10);  // by ranks
  CHECK(*equivalence_p(many, many, margins, std::vector<double>(50, 0.2)) == 1);
}

TEST_CASE("an interval at another level is as wide as that level's quantile") {
  const Estimate e = estimate(std::vector<double>{1, 2, 3, 4});
  const Estimate wide = at_level(e, 0.99);
  CHECK(*wide.ci_high - wide.mean == Approx(student_t_quantile(0.995, 3) * *e.se));
  CHECK(*at_level(wide, kLevel).ci_low == *e.ci_low);
  CHECK_FALSE(at_level(estimate(std::vector<double>{1}), 0.99).ci_low);
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
  // 4 × 0.01, 3 × 0.02, max with 2 × 0.02, 1 × 0.9: ties get one value, none falls below another.
  const std::vector<double> tied = holm(std::vector<double>{0.02, 0.9, 0.02, 0.01});
  CHECK(tied[3] == Approx(0.04));
  CHECK(tied[0] == Approx(0.06));
  CHECK(tied[2] == Approx(0.06));
  CHECK(tied[1] == Approx(0.9));
  CHECK(holm({}).empty());
}

TEST_CASE("differences that cancel have a mean of 0, whatever fractions are rounded to") {
  const std::vector<double> a{0.815, 0.79, 0.8}, b{0.805, 0.8, 0.8};
  const PairedDifference found = paired_difference(a, b);
  CHECK(found.difference.mean == 0);
  CHECK(*found.difference.sd == Approx(0.01));
}
