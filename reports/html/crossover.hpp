#pragma once

#include <string>
#include <vector>

#include "reports/html/line_chart.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// The seconds per iteration of algorithms over the values of one key: who is fastest where.
struct CrossoverChart {
  std::string title;
  std::string key;  // dotted
  bool logarithmic_x = true;
  std::vector<ChartSeries> series;  // bands by value of the key, and thin lines beside them
};
/// Without the figure's CSV.
PageFigure draw(CrossoverChart chart);

/// The comparison's only numeric setting that varies; empty if there is none, or if others vary
/// too.
std::string crossover_key(const Comparison& comparison);
/// Over crossover_key(): predicted bands and thin lines of what each seed measured; without any
/// prediction the mean over seeds with its 95 % interval. UsageError without such a key.
PageFigure crossover_figure(const ReportData& data);

}  // namespace acid
