#include "reports/html/figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/html/curve_charts.hpp"
#include "reports/html/runtime.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/sweep.hpp"
#include "reports/html/verdict.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

/// What a request names, among what there is.
template <class Known, class NameOf>
const Known& chosen(const std::vector<Known>& known, const std::string& name, const char* what,
                    const NameOf& name_of) {
  std::vector<std::string> names;
  for (const Known& one : known) names.emplace_back(name_of(one));
  if (known.empty()) throw UsageError(fmt::format("these runs have no {} to draw", what));
  if (name.empty()) return known.front();
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw UsageError(fmt::format("there is no {} '{}' to draw: {}", what, name, one_of(names)));
  return known[static_cast<std::size_t>(found - names.begin())];
}

ReportFigure curve_figure(const ReportData& data, const FigureRequest& request) {
  if (data.comparison.points.size() > 1)
    throw UsageError(fmt::format(
        "a curve is of one setting, and these runs have {}: choose with --where KEY=VALUE ({})",
        data.comparison.points.size(),
        point_title(data.comparison.points.front()) + " is the first"));
  const CurveAxis& axis =
      chosen(data.axes, request.against, "axis", [](const CurveAxis& each) { return each.key; });
  const std::string wanted = !request.metric.empty() ? request.metric : data.comparison.primary;
  std::vector<CurveChart> charts = curve_charts(data);
  const bool known = std::ranges::any_of(
      charts, [&](const CurveChart& chart) { return data.metrics[chart.metric].name == wanted; });
  const CurveChart& chart =
      chosen(charts, request.metric.empty() && !known ? "" : wanted, "curve",
             [&](const CurveChart& each) { return data.metrics[each.metric].name; });
  const auto a = static_cast<std::size_t>(&axis - data.axes.data());
  ReportFigure figure{draw_curves(data, chart, a),
                      csv_line({"label", std::string(axis.key), "mean", "ci_low", "ci_high"})};
  for (const std::size_t g : chart.groups) {
    const Band& band = data.curves[g][chart.metric].bands[a];
    for (std::size_t k = 0; k < band.x.size(); ++k)
      figure.csv += csv_line({data.comparison.groups[g].label, fmt::format("{}", band.x[k]),
                              fmt::format("{}", band.mean[k]), fmt::format("{}", band.low[k]),
                              fmt::format("{}", band.high[k])});
  }
  return figure;
}

}  // namespace

ReportFigure report_figure(const ReportData& data, const FigureRequest& request) {
  const std::vector<std::string_view> charts(kFigureCharts.begin(), kFigureCharts.end());
  const std::string_view chart =
      chosen(charts, request.chart, "chart", [](std::string_view name) { return name; });
  if (chart == "curve") return curve_figure(data, request);
  ReportFigure figure;
  if (chart == "overview") figure.html = draw_overview(data, true);
  if (chart == "difference")
    figure.html =
        difference_forest(data, request.metric.empty() ? data.comparison.primary : request.metric);
  if (chart == "ratio") figure.html = ratio_forest(data);
  if (chart == "runtime") figure.html = runtime_figure(data);
  if (figure.html.find("<svg class=\"line") == std::string::npos)
    throw UsageError(fmt::format("these runs have no chart '{}'{}", chart,
                                 request.metric.empty() ? "" : " of " + request.metric));
  figure.csv = chart == "runtime" ? runtime_csv(data) : to_csv(data.comparison);
  return figure;
}

}  // namespace acid
