#pragma once

#include <string>
#include <vector>

#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// What theory says of one group's curve, on every axis of the report.
struct ChartBound {
  std::string label, note;
  int style = 0;                                 // that of the group
  std::vector<std::vector<CurvePoint>> on_axes;  // parallel to ReportData::axes
};

/// One chart: a metric at a sweep point. The static drawings and the data block both show these.
struct CurveChart {
  std::string id;  // unique in the page
  std::size_t point = 0;
  std::size_t metric = 0;           // index into ReportData::metrics
  std::vector<std::size_t> groups;  // that have the metric, in the point's order
  std::vector<ChartBound> bounds;
};

/// The chart as a figure, static, against the axis at that place of ReportData::axes.
PageFigure draw_curves(const ReportData& data, const CurveChart& chart, std::size_t axis);

/// By sweep point, then metric; none without a group that has it.
std::vector<CurveChart> curve_charts(const ReportData& data);

}  // namespace acid
