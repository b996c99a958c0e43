#pragma once

#include <optional>

#include "recipes/node.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// The typical mean of N = `draws` durations, as a share of the model's mean. Near 1 for light
/// tails; smaller for heavy ones, whose mean depends on durations too rare for a run of that
/// length. With q the median of the largest of N it is E[X; X ≤ q] + q/N. Pareto, M = N/ln 2: 1 −
/// M^((1−a)/a) + q/N; lognormal: Φ(Φ⁻¹(1 − 1/M) − σ) + q/N. A random slowdown rarer than once in N
/// is left out.
double expected_mean_share(const ComputeModel& model, double draws);

/// A warning for a run under the virtual driver with so many gradients, if its durations are
/// expected to miss their mean by more than 5 %.
std::optional<Problem> tail_doubt(const ExecutionSettings& execution, double gradients);

/// A warning for a run under the virtual driver if budget.seconds ends it before the fastest
/// worker's first gradient, or in rounds before the slowest worker's.
std::optional<Problem> seconds_doubt(const RunSettings& settings, bool in_rounds);

}  // namespace acid
