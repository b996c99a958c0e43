#pragma once

#include <optional>
#include <string>
#include <vector>

#include "recipes/sweep.hpp"

namespace acid {

/// A key that takes several values, beside a recipe's own [sweep]: `acid predict --over`.
struct OverAxis {
  std::string key;             // dotted, as sweeps name it
  std::vector<double> values;  // two or more, ascending
  double step = 0;             // the key takes whole numbers, and these multiples do; 0: any
  bool logarithmic = true;     // how lines between the values are drawn

  /// The nearest value that the key takes.
  double rounded(double value) const;
  /// Number k of its values, for the compiler.
  Assignment at(std::size_t k) const;
};

/// The key of a run's settings that is meant where "execution.virtual." or the unit at its end is
/// left out; nothing where there is none, or several.
std::optional<std::string> whole_key(const std::string& shorter);

/// Reads KEY=A..B, KEY=A..B:COUNT, by default 20 values, and KEY=V,V,…; values are numbers as
/// the key takes them, or have its units, as "25 Gbit/s". KEY may leave out "execution.virtual."
/// and the unit at its end. Values between A and B are in equal ratios, each rounded to four
/// digits, or in equal steps if `linear`. UsageError for a key that is unknown or no number, and
/// for a range that has nothing in it.
OverAxis over_axis(const std::string& text, bool linear);

}  // namespace acid
