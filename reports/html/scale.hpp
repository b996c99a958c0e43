#pragma once

#include <string>
#include <vector>

#include "reports/drawing/drawing.hpp"
#include "reports/numbers.hpp"

namespace acid {

/// A linear or logarithmic map from values to SVG units.
struct Scale {
  double low = 0, high = 1;   // values; low > 0 when logarithmic; low < high
  double begin = 0, end = 1;  // places of low and high; begin > end for a vertical axis
  bool logarithmic = false;

  double operator()(double value) const;
};

/// A range for drawing values in [lowest, highest]: widened if it is empty, and by a small margin
/// otherwise; never past zero if the values are not.
Scale fitted(double lowest, double highest, bool logarithmic);

/// About `wanted` round values within the scale: 1, 2 or 5 times a power of ten; powers of ten if
/// logarithmic, with 2 and 5 between if the range is short. Never empty for a fitted scale.
std::vector<double> ticks(const Scale& scale, int wanted);

/// Writes a value with so many significant digits.
using TickFormat = std::string (*)(double value, int significant_digits);

struct Tick {
  double value = 0;
  std::string text;
};

/// ticks() with their texts: three digits, or as many as keep neighbours apart, and powers of ten
/// without their zeros.
std::vector<Tick> named_ticks(const Scale& scale, int wanted, TickFormat format = &format_number);

/// The same along a horizontal axis: fewer where their texts would touch.
std::vector<Tick> named_ticks_along(const Scale& scale, int wanted,
                                    TickFormat format = &format_number);
/// How wide its text is drawn.
double tick_width(const Tick& tick);

/// An axis below a drawing, about `wanted` ticks on its line, which is at `bottom`, and its name
/// `name_below` that; `between`: drawn over the line and under the texts.
Shapes axis_below(const Scale& x, double bottom, int wanted, std::string_view name,
                  double name_below, Shapes between = {});

}  // namespace acid
