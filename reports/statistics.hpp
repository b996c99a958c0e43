#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace acid {

/// Mean and its spread over seeds. The interval is Student's t; with n = 1 it is absent.
struct Estimate {
  int n = 0;
  double mean = 0;
  std::optional<double> sd, se, ci_low, ci_high;
};
inline constexpr double kLevel = 0.95;
/// A value that is not finite makes mean and spread not finite: nothing is left out silently.
Estimate estimate(std::span<const double> values);
/// The same with the interval at another level, in (0, 1).
Estimate at_level(Estimate estimate, double level);

/// Estimates that a few odd seeds hardly move. The interquartile mean is that of the values left
/// when the ⌊n/4⌋ lowest and highest are cut off, its interval the 95 % percentile bootstrap
/// (Agarwal et al. 2021, 2108.13264). Both are absent below kFewestForBootstrap values, where a
/// bootstrap interval covers far less than it says. An infinite value counts as beyond all others,
/// and results that depend on it are infinite. All are absent without values and with a NaN.
struct Robust {
  std::optional<double> median, iqm, iqm_low, iqm_high;
};
inline constexpr int kFewestForBootstrap = 8;
Robust robust(std::span<const double> values);

/// The rounding of two values' difference, which grows more slowly than the values; empty: none.
using Floor = std::function<double(double, double)>;

/// Chance that a value of `a` is above one of `b`, ties counting half: Mann–Whitney's U over the
/// number of pairs. Values that differ by no more than their floor tie. Its interval is the 95 %
/// percentile bootstrap that draws from `a` and from `b` apart, absent if one of them has fewer
/// than kFewestForBootstrap values; its width is 0 if the two do not overlap.
struct Chance {
  double value = 0;
  std::optional<double> low, high;
};
/// Absent without a pair and if a value is not a number.
std::optional<Chance> chance_above(std::span<const double> a, std::span<const double> b,
                                   const Floor& floor = {});

/// The value, or 0 if its size is no more than the floor.
double beyond_floor(double value, double floor);

/// The exact test of a p.
enum class PairedTest { sign_flip, signed_rank };
/// "sign-flip", "signed-rank".
std::string_view name_of(PairedTest test);
/// The test of these differences: of their ranks where one is infinite or NaN and beyond
/// kMostSignFlips.
PairedTest test_of(std::span<const double> differences);
inline constexpr int kMostSignFlips = 40;

/// Differences a − b of values paired by seed. An infinite value stands for one that is beyond all
/// others (a run that diverged, a target not reached), so two equal infinities are no difference;
/// values that differ by no more than their floor, the one of `floors` at their place, are equal.
///   difference  mean and t interval of the pairs with two finite values.
///   p           exact and two-sided, of all pairs, given how large the differences are: Fisher's
///               sign-flip test of their sum or, where one is infinite and beyond kMostSignFlips
///               pairs, Wilcoxon's signed-rank test with mean ranks for ties and without the zeros.
///               The smallest p of n pairs is 2/2ⁿ. Absent for fewer than 2 pairs and when a value
///               is not a number.
///   sign        of what the test looks at: +1 when a is above b, −1 below, 0 neither.
struct PairedDifference {
  Estimate difference;
  std::optional<double> p;
  PairedTest test = PairedTest::sign_flip;
  int pairs = 0, unequal = 0;  // unequal: pairs whose difference is not zero
  int rounded = 0;             // pairs that differ and whose difference is below their floor
  int sign = 0;
};
/// `floors`: empty, all zero, or as many as values.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   std::span<const double> floors = {});

/// Exact one-sided p that the mean of values, such as differences paired by seed, is above 0. The
/// tests are those of paired_difference(), and the smallest p of n values is 1/2ⁿ. Absent for fewer
/// than 2 values and when one is not a number.
std::optional<double> above_p(std::span<const double> values);

/// Exact p of two one-sided tests that a and b, paired by seed, differ by less than a margin each:
/// the larger of the p that the mean of a − b + margin and of margin − (a − b) are above 0. The
/// tests are those of paired_difference(), and the smallest p of n pairs is 1/2ⁿ. A pair that is no
/// further from its margin than its floor speaks for neither side. Absent for fewer than 2 pairs
/// and when a value is not finite. As many margins as values, above 0; floors as there.
std::optional<double> equivalence_p(std::span<const double> a, std::span<const double> b,
                                    std::span<const double> margins,
                                    std::span<const double> floors = {});

/// Geometric mean of the ratios a/b paired by seed, with the t interval of the log-ratios: how many
/// times larger a is. Pairs with an infinite value (see PairedDifference) are left out; absent
/// without another pair and unless every value in them is positive.
struct PairedRatio {
  int n = 0;
  double mean = 1;
  std::optional<double> ci_low, ci_high;
};
std::optional<PairedRatio> paired_ratio(std::span<const double> a, std::span<const double> b);

/// Holm's step-down adjustment, in the order given.
std::vector<double> holm(std::span<const double> p);

/// Quantile of Student's t with `degrees` degrees of freedom; probability in (0, 1).
double student_t_quantile(double probability, double degrees);

/// P(X ≥ statistic) for X chi-squared with `degrees` degrees of freedom.
double chi_squared_tail(double statistic, double degrees);

}  // namespace acid
