#pragma once

#include <optional>

#include "recipes/node.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// What the mean of N drawn durations typically is, as a share of the model's mean. Near 1 for
/// light tails; of a heavy tail the mean is carried by durations so rare that no run of that length
/// has them. With q the median of the largest of N: E[X; X ≤ q] + q/N, the draws up to it and it.
/// Pareto, M = N/ln 2: 1 − M^((1−a)/a) + q/N; lognormal: Φ(Φ⁻¹(1 − 1/M) − σ) + q/N. A random
/// slowdown rarer than once in N is left out.
double expected_mean_share(const ComputeModel& model, double draws);

/// A doubt about a run under the virtual driver that commits so many gradients and whose durations
/// are expected to miss their mean by more than 5 %.
std::optional<Problem> tail_doubt(const ExecutionSettings& execution, double gradients);

}  // namespace acid
