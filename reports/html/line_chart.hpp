#pragma once

#include <string>
#include <vector>

#include "reports/curves.hpp"
#include "reports/html/page_figure.hpp"
#include "reports/html/scale.hpp"

namespace acid {

/// One algorithm in a chart: its seeds drawn faint, their mean with its t band on top.
struct ChartSeries {
  std::string label;
  int style = 0;  // colour and dash, see looks.hpp
  std::vector<std::vector<CurvePoint>> seeds;
  Band band;
  std::string final = {};  // value at the end, in words
  bool whole = true;       // seeds have all recorded points
};

/// A line from theory, drawn thin and dashed in the colour of its series.
struct ChartReference {
  std::string label, note;  // the note is a sentence under the chart
  int style = 0;
  std::vector<CurvePoint> points;
};

struct LineChart {
  std::string id;              // unique in the page
  std::string title, x_label;  // plain text
  TickFormat x_ticks = &format_number;
  bool logarithmic = false;  // y
  /// The bands are all there is, and x begins where they do. False: they are over seeds, and x
  /// begins at 0.
  bool bands_only = false;
  bool logarithmic_x = false;  // of bands alone
  std::vector<ChartSeries> series;
  std::vector<ChartReference> references = {};
};

/// A figure: static SVG with axes, direct labels, an accessible title and description, and the mean
/// curves as a table under <details>: means over seeds of the recorded values, between samples on
/// the line that joins them; of a band cell only if a series has too many samples to keep all, and
/// then not at its ends. On a logarithmic axis values at or below zero are not drawn, nor those
/// more than ten decades below the largest; notes name the series that disappear or are cut off.
/// The range drawn is that of the series, not of the references. Without anything to draw the
/// figure says so.
PageFigure draw(const LineChart& chart);

/// Its mean curves at places from 0 to `last_x` as that table.
std::string line_chart_table(const LineChart& chart, double last_x);

}  // namespace acid
