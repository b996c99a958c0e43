#pragma once

#include <string>
#include <vector>

#include "reports/drawing/drawing.hpp"

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

/// An axis below a drawing, about `wanted` ticks on its line, which lies at `bottom`, and its name
/// `name_below` that; `between`: drawn over the line and under the texts.
Shapes axis_below(const Scale& x, double bottom, int wanted, std::string_view name,
                  double name_below, Shapes between = {});

}  // namespace acid
