#include "recipes/heavy_tails.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace acid {
namespace {

constexpr double kFar = 0.05;

double normal_share(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

// The value that a standard normal number exceeds once in so many draws.
double exceeded_once_in(double draws) {
  double low = -40, high = 40;
  for (int k = 0; k < 100; ++k) {
    const double middle = (low + high) / 2;
    (normal_share(-middle) > 1 / draws ? low : high) = middle;
  }
  return low;
}

double share_of_kind(const ComputeModel& compute, double draws) {
  const double rarity = draws / std::numbers::ln2;  // 1 / P(X > median of the largest draw)
  if (compute.kind == ComputeKind::lognormal) {
    const double sigma = compute.parameter, z = exceeded_once_in(rarity);
    return normal_share(z - sigma) + std::exp(sigma * z - sigma * sigma / 2) / draws;
  }
  if (compute.kind == ComputeKind::pareto) {
    const double shape = compute.parameter;
    return 1 - std::pow(rarity, (1 - shape) / shape) +
           (shape - 1) / shape * std::pow(rarity, 1 / shape) / draws;
  }
  return 1;  // exponential: off by less than 1/draws
}

}  // namespace

double expected_mean_share(const ComputeModel& model, double draws) {
  const double probability = model.slowdown_probability;
  const bool never = probability > 0 && probability * draws < 1;
  return share_of_kind(model, draws) /
         (never ? 1 + probability * (model.slowdown_factor - 1) : 1.0);
}

std::optional<Problem> tail_doubt(const ExecutionSettings& execution, double gradients) {
  constexpr double kFew = 100;  // of which every kind's mean is far off by chance
  if (!execution.entry().simulates ||
      execution.simulation.gradient_clock != GradientClock::duration || gradients < kFew)
    return std::nullopt;
  const double share = expected_mean_share(execution.simulation.compute, gradients);
  if (std::abs(share - 1) <= kFar) return std::nullopt;
  return Problem{
      fmt::format("the durations of {:.0f} gradients are expected to have {:.2f} of their model's "
                  "mean, which rarer ones carry: seconds and gradients per second will be that far "
                  "off, and differ from seed to seed",
                  gradients, share),
      "exchanges keep their rate per gradient; for steadier times use a lighter tail (pareto with "
      "a larger shape, lognormal with a smaller sigma) or a longer budget"};
}

std::optional<Problem> seconds_doubt(const RunSettings& settings, bool in_rounds) {
  const ExecutionSettings& execution = settings.execution;
  const double limit = settings.budget.seconds;
  if (!execution.entry().simulates ||
      execution.simulation.gradient_clock != GradientClock::duration)
    return std::nullopt;
  const ComputeModel& compute = execution.simulation.compute;
  std::vector<double> means;
  for (int w = 0; w < settings.workers; ++w) means.push_back(compute.mean_seconds(w));
  const double first = in_rounds ? std::ranges::max(means) : std::ranges::min(means);
  const bool is_known = compute.kind == ComputeKind::constant && compute.slowdown_probability == 0;
  // Of several random durations one is short, but a round has to wait for the longest.
  if (first <= limit || !(is_known || in_rounds)) return std::nullopt;
  return Problem{
      fmt::format("a run {} without a gradient: the first {} {:g} s{}, and "
                  "budget.seconds is {:g}",
                  is_known ? "ends" : "may end", in_rounds ? "round takes at least" : "one takes",
                  first, is_known ? "" : " in the mean", limit),
      "give it more seconds, or say how long a gradient takes: "
      "execution.virtual.network.gradient_seconds"};
}

}  // namespace acid
