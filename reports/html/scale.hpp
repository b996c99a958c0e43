#pragma once

#include <string>
#include <vector>

namespace acid {

/// A linear or logarithmic map from values to SVG units.
struct Scale {
  double low = 0, high = 1;   // values; low > 0 when logarithmic; low < high
  double begin = 0, end = 1;  // where low and high go; begin > end for a vertical axis
  bool logarithmic = false;

  double operator()(double value) const;
};

/// A range for drawing values in [lowest, highest]: widened when it is empty, and by a small margin
/// otherwise; never past zero that the values respect.
Scale fitted(double lowest, double highest, bool logarithmic);

/// About `wanted` round values within the scale: 1, 2 or 5 times a power of ten; powers of ten when
/// logarithmic, with 2 and 5 between where the range is short. Never empty for a fitted scale.
std::vector<double> ticks(const Scale& scale, int wanted);

}  // namespace acid
