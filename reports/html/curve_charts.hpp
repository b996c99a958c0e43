#pragma once

#include <string>
#include <vector>

#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// The theory of one group's curve, on every axis of the report.
struct ChartBound {
  std::string label, note;
  int style = 0;                                 // the group's
  std::vector<std::vector<CurvePoint>> on_axes;  // parallel to ReportData::axes
};

/// One chart: a metric at a sweep point, for the static drawings and the data block.
struct CurveChart {
  std::string id;  // unique in the page
  std::size_t point = 0;
  std::size_t metric = 0;           // index into ReportData::metrics
  std::vector<std::size_t> groups;  // groups with the metric, in the point's order
  std::vector<ChartBound> bounds;
};

/// The chart as a static figure, against the axis at that index of ReportData::axes.
PageFigure draw_curves(const ReportData& data, const CurveChart& chart, std::size_t axis);

/// By sweep point, then metric; only charts in which a group has the metric.
std::vector<CurveChart> curve_charts(const ReportData& data);

}  // namespace acid
