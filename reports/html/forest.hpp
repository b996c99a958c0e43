#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/html/page_figure.hpp"

namespace acid {

/// In columns: a longer heading, or name in the axis's words, is cut.
inline constexpr int kForestLongestHeading = 60;

/// One interval, or a heading between them.
struct ForestRow {
  std::string label;  // plain text
  bool heading = false;
  int style = 0;  // colour, see looks.hpp
  double value = 0;
  std::optional<double> low = {}, high = {};  // absent: one seed, no interval
  std::string text = {};                      // the numbers, at the end of the row
  std::string_view mark = {};                 // after the label, which may be cut
};

/// Values with their intervals below each other, around a line of no effect.
struct Forest {
  std::string id;           // unique in the page
  std::string title;        // plain text
  std::string x_label;      // plain text
  std::string legend = {};  // plain text: what the intervals are
  /// The data's columns for the value and the ends of its interval.
  std::array<std::string, 3> columns{"value", "ci_low", "ci_high"};
  std::string better;           // "better →", "← better"; empty if there is no better direction
  bool logarithmic = false;     // ratios
  std::optional<double> line;   // 0 for differences, 1 for ratios; absent: no such line
  std::vector<ForestRow> rows;  // finite values; positive when logarithmic
};

/// A figure. Intervals that reach far beyond all values end in arrows at the edge, so that one wide
/// interval does not flatten the others. Empty if no row is drawable.
PageFigure draw_forest(const Forest& forest);

}  // namespace acid
