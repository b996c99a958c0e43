#pragma once

#include <string>
#include <vector>

#include "reports/curves.hpp"
#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// The seconds per iteration of algorithms over the values of one key: who is fastest where.
struct CrossoverChart {
  std::string title;
  std::string key;  // dotted
  bool logarithmic_x = true;
  struct Line {
    std::string label;
    int style = 0;
    Band band;                                  // by value of the key
    std::vector<std::vector<CurvePoint>> runs;  // thin lines beside it
  };
  std::vector<Line> lines;
};
/// Without the figure's CSV.
PageFigure draw(const CrossoverChart& chart);

/// The comparison's only numeric setting that varies; empty if there is none, or if others vary
/// too.
std::string crossover_key(const Comparison& comparison);
/// Over crossover_key(): predicted bands and thin lines of what each seed measured; without any
/// prediction the mean over seeds with its 95 % interval. UsageError without such a key.
PageFigure crossover_figure(const ReportData& data);

}  // namespace acid
