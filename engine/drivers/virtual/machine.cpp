#include "engine/drivers/virtual/machine.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/base/quantiles.hpp"

namespace acid {

bool ComputeModel::is_even() const {
  return kind == ComputeKind::constant && slowdown_probability == 0 && pauses.empty() &&
         std::ranges::adjacent_find(slow_factors, std::ranges::not_equal_to()) ==
             slow_factors.end();
}

double ComputeModel::mean_seconds(int worker) const {
  const double factor = slow_factors.empty() ? 1.0 : slow_factors[static_cast<std::size_t>(worker)];
  return gradient_seconds * factor * (1 + slowdown_probability * (slowdown_factor - 1));
}

double ComputeModel::draw_seconds(int worker, std::int64_t step, const Seeds& seeds) const {
  const double factor = slow_factors.empty() ? 1.0 : slow_factors[static_cast<std::size_t>(worker)];
  const double nominal = gradient_seconds * factor;
  if (kind == ComputeKind::constant && slowdown_probability == 0) return nominal;
  Stream stream(seeds.derived(Purpose::compute_model, static_cast<std::uint32_t>(worker)),
                static_cast<std::uint64_t>(step));
  const double slow =
      slowdown_probability > 0 && stream.uniform() < slowdown_probability ? slowdown_factor : 1.0;
  double unit = 1;
  switch (kind) {
    case ComputeKind::constant:
      break;
    case ComputeKind::exponential:
      unit = stream.exponential();
      break;
    case ComputeKind::shifted_exponential:
      unit = parameter + (1 - parameter) * stream.exponential();
      break;
    case ComputeKind::lognormal:
      unit = std::exp(parameter * stream.normal() - parameter * parameter / 2);
      break;
    case ComputeKind::pareto:
      unit = (parameter - 1) / parameter * std::pow(1 - stream.uniform(), -1 / parameter);
      break;
    case ComputeKind::measured:
      unit = quantile_at(quantiles, stream.uniform());
      break;
  }
  return nominal * slow * unit;
}

double ComputeModel::end_seconds(int worker, double start, double seconds) const {
  double end = start + seconds;
  for (const Pause& pause : pauses) {  // by start time
    if (pause.worker != worker || pause.at_seconds >= end) continue;
    const double resumes = pause.at_seconds + pause.for_seconds;
    if (resumes > start) end += resumes - std::max(start, pause.at_seconds);
  }
  return end;
}

}  // namespace acid
