#pragma once

#include <array>
#include <string>
#include <string_view>

#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// The charts of a report that can be saved as files. From "timeline" on they are of one algorithm.
inline constexpr std::array<std::string_view, 13> kFigureCharts{
    "curve",     "overview", "difference", "ratio",     "runtime", "crossover", "timeline",
    "staleness", "topology", "pairing",    "gradients", "idle",    "holdings"};

/// The request of a chart of a report, with its runs.
struct FigureRequest {
  std::string chart;
  std::string metric;     // of a curve or difference; empty: the primary outcome
  std::string algorithm;  // label or kind, for a chart of one algorithm; empty if there is one
  std::string against;    // axis of a curve: "gradients", "seconds", …; empty: the first
};

/// The chart with its data, which is not empty. UsageError for a chart, metric, algorithm or axis
/// that the report does not have, and for a chart of one setting or algorithm if there are several;
/// it names the existing ones.
PageFigure report_figure(const ReportData& data, const FigureRequest& request);

}  // namespace acid
