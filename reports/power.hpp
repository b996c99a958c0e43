#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace acid {

struct ComparedDifference;
struct Comparison;

/// How many seeds a test needs: for the exact paired tests of reports/statistics.hpp, at 5 % after
/// Holm's correction. A comparison is one of `comparisons` (1 or more) of a family.

/// The smallest two-sided p that so many pairs can give, none of them equal: 2/2ⁿ, at most 1.
double smallest_p(int pairs);
/// The fewest pairs whose smallest p is significant even as the smallest of the family: with fewer,
/// no comparison can be decided unless others are, too.
int seeds_needed(std::size_t comparisons);
/// The same for two one-sided tests that a difference is within its margin, with a smallest p of
/// 1/2ⁿ.
int seeds_needed_within(std::size_t comparisons);

/// The number of comparisons in the primary outcome's family, at least 1; without a primary outcome
/// that of the largest family.
std::size_t family_size(const Comparison& comparison);

/// Chance that the test of so many pairs shows a difference whose mean is `effect` standard
/// deviations of the (normal) paired differences, at Bonferroni's level: with Holm's correction it
/// is that or more. The sign-flip test has the power of Student's t at the level that it really
/// has, a whole number of 2/2ⁿ, but for few such steps, where all differences must have one sign
/// or nearly all: exactly Φ(effect)ⁿ at one step; its distance to t's is taken to fall as 1/steps.
/// Simulated, that is right to within two or three points. Beyond kMostSignFlips pairs ranks are
/// tested, with an efficiency of 3/π.
double power_of(int pairs, double effect, std::size_t comparisons);
/// The same for a one-sided exact test at a level.
double one_sided_power_of(int pairs, double effect, double level);
/// The chance that such tests, each at the level, show the effects on all sides at all settings.
/// Settings count as independent. At one it is 1 − (the chances that a side's test fails): a lower
/// bound, and close to it for the two sides of a range, which hardly ever fail together.
double power_at_each(int pairs, const std::vector<std::vector<double>>& settings, double level);
inline constexpr double kPower = 0.8;
inline constexpr int kMostPlannedSeeds = 10'000;
/// Fewest pairs that have this power; absent where more than kMostPlannedSeeds would be needed, and
/// where the effect is zero or not finite.
std::optional<int> seeds_to_show(double effect, std::size_t comparisons, double power = kPower);

/// The same for a difference in its family, if the true one is as observed: in mean and spread of
/// the paired differences. Only for metrics that can decide a comparison (kOutcomes); absent if it
/// was shown already, if all is rounding, if a run has only its rank, with fewer than three pairs,
/// and if the seeds there would probably show it.
std::optional<int> seeds_to_show(const ComparedDifference& difference);
/// "; if it is what was seen, 14 seeds, 8 more, show it with 80 % power". Empty if absent.
std::string more_seeds_words(const ComparedDifference& difference);
/// The smallest effect that so many pairs show with this power; absent if none can be shown.
std::optional<double> effect_shown(int pairs, std::size_t comparisons, double power = kPower);

/// seeds_to_show() for two one-sided tests, each at the family's level, that the mean lies within ±
/// margin, if it is `difference`: absent if that is not within.
std::optional<int> seeds_to_show_within(double margin, double difference, double sd,
                                        std::size_t comparisons, double power = kPower);
/// The same for a difference that has a margin and was not shown to be within it; a margin that is
/// a share is taken at its mean. Absent if it was shown, if no number of seeds can show it because
/// lines between samples or rounding are wrong by as much, and as in seeds_to_show().
std::optional<int> seeds_to_show_equivalent(const ComparedDifference& difference);

}  // namespace acid
