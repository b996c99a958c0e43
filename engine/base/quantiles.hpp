#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace acid {

// A distribution by its values at evenly spaced probabilities from 0 to 1, at least two, none below
// the one before; linear between them.

/// What is wrong with such a list of durations; nullptr: nothing.
inline const char* why_no_quantiles(std::span<const double> durations) {
  if (durations.size() < 2) return "has fewer than two durations";
  if (!std::ranges::is_sorted(durations)) return "has a duration that is below the one before";
  return durations.back() > 0 ? nullptr : "has no duration above 0";
}

/// The value at a probability from 0 to 1.
inline double quantile_at(std::span<const double> values, double probability) {
  const double at = probability * static_cast<double>(values.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), values.size() - 2);
  return std::lerp(values[below], values[below + 1], at - static_cast<double>(below));
}

/// The mean, which the trapezoid rule gives exactly.
inline double mean_of_quantiles(std::span<const double> values) {
  double sum = (values.front() + values.back()) / 2;
  for (const double inner : values.subspan(1, values.size() - 2)) sum += inner;
  return sum / static_cast<double>(values.size() - 1);
}

/// The same distribution with a mean of 1; that of `values` is above 0.
inline std::vector<double> with_mean_1(std::vector<double> values) {
  const double mean = mean_of_quantiles(values);
  for (double& value : values) value /= mean;
  return values;
}

}  // namespace acid
