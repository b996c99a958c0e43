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

/// Those of values that were measured, at `count` probabilities, at least two. The last one is
/// chosen so that the mean is that of the values, as far as the one before it allows.
inline std::vector<double> quantiles_of(std::vector<double> measured, std::size_t count) {
  double sum = 0;
  for (const double value : measured) sum += value;
  const double mean = sum / static_cast<double>(measured.size());
  std::ranges::sort(measured);
  if (measured.size() == 1) measured.push_back(measured.front());
  std::vector<double> values;
  double others = 0;
  for (std::size_t k = 0; k + 1 < count; ++k) {
    values.push_back(
        quantile_at(measured, static_cast<double>(k) / static_cast<double>(count - 1)));
    others += k == 0 ? values.front() / 2 : values.back();
  }
  const double last = 2 * (mean * static_cast<double>(count - 1) - others);
  values.push_back(std::max(last, values.back()));
  return values;
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
