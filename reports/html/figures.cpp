#include "reports/html/figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/html/crossover.hpp"
#include "reports/html/curve_charts.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/timeline.hpp"
#include "reports/known_metrics.hpp"
#include "reports/primary.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

/// Finds what a request names among the known ones.
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

/// The primary outcome or, where it is made of a curve, the metric of that curve.
std::string recorded_metric(const Comparison& comparison) {
  if (comparison.primary == kMidConsensus) return "consensus_distance";
  if (is_to_target(comparison.primary))
    for (const ComparedGroup& group : comparison.groups)
      if (group.target) return group.target->metric;
  return comparison.primary;
}

PageFigure curve_figure(const ReportData& data, const FigureRequest& request) {
  if (data.comparison.points.size() > 1)
    throw UsageError(fmt::format(
        "a curve is of one setting, and these runs have {}: choose with --where KEY=VALUE ({})",
        data.comparison.points.size(),
        point_title(data.comparison.points.front()) + " is the first"));
  const CurveAxis& axis =
      chosen(data.axes, request.against, "axis", [](const CurveAxis& each) { return each.key; });
  const std::string wanted =
      !request.metric.empty() ? request.metric : recorded_metric(data.comparison);
  std::vector<CurveChart> charts = curve_charts(data);
  const bool known = std::ranges::any_of(
      charts, [&](const CurveChart& chart) { return data.metrics[chart.metric].name == wanted; });
  const CurveChart& chart =
      chosen(charts, request.metric.empty() && !known ? "" : wanted, "curve",
             [&](const CurveChart& each) { return data.metrics[each.metric].name; });
  const auto a = static_cast<std::size_t>(&axis - data.axes.data());
  PageFigure figure = draw_curves(data, chart, a);
  const Metric& metric = data.metrics[chart.metric];
  if (!figure.drawing)
    throw UsageError(
        fmt::format("there is nothing to draw: {}",
                    metric.logarithmic
                        ? fmt::format("no {} is above 0, and its scale is logarithmic", metric.name)
                        : fmt::format("no {} is a finite number", metric.name)));
  figure.csv = csv_line({"label", std::string(axis.key), "mean", "ci_low", "ci_high"});
  for (const std::size_t g : chart.groups) {
    const GroupCurves& curves = data.curves[g][chart.metric];
    const Band& band = curves.bands[a];
    const bool has_interval = curves.seeds.size() > 1;
    const auto end = [&](double value) { return has_interval ? fmt::format("{}", value) : ""; };
    for (std::size_t k = 0; k < band.x.size(); ++k)
      figure.csv +=
          csv_line({data.comparison.groups[g].label, fmt::format("{}", band.x[k]),
                    fmt::format("{}", band.mean[k]), end(band.low[k]), end(band.high[k])});
  }
  return figure;
}

PageFigure timeline_figure(const ReportData& data, std::size_t g) {
  const std::vector<TimelineData> all = timelines(data);
  const auto found = std::ranges::find(all, g, &TimelineData::group);
  if (found == all.end()) return {};
  PageFigure figure = draw_timeline(*found, 0, timeline_end(all));
  figure.csv = csv_line({"worker", "kind", "begin", "end"});
  for (const TimelineData::Row& row : found->rows)
    for (const Span& span : row.spans)
      figure.csv += csv_line({std::to_string(row.worker),
                              std::string(kSpanNames[static_cast<std::size_t>(span.kind)]),
                              fmt::format("{}", span.begin), fmt::format("{}", span.end)});
  return figure;
}

/// A chart of one algorithm at one setting.
PageFigure group_figure(const ReportData& data, const FigureRequest& request) {
  std::vector<std::string> labels;
  std::vector<PageFigure> figures;
  std::set<std::string> values;  // a drawing that several algorithms share is drawn once
  for (std::size_t g = 0; g < data.comparison.groups.size(); ++g) {
    const ComparedGroup& group = data.comparison.groups[g];
    if (!request.algorithm.empty() && group.label != request.algorithm &&
        group.algorithm != request.algorithm)
      continue;
    PageFigure figure;
    if (request.chart == "timeline") figure = timeline_figure(data, g);
    if (request.chart == "staleness") figure = staleness_figure(data, g);
    if (request.chart == "topology") figure = topology_figure(data, g);
    if (request.chart == "pairing") figure = pairing_figure(data, g);
    if (request.chart == "holdings") figure = holdings_figure(data, g);
    if (request.chart == "gradients") figure = worker_figure(data, g, false);
    if (request.chart == "idle") figure = worker_figure(data, g, true);
    if (!figure.drawing) continue;
    const bool same_for_many = request.chart == "topology" || request.chart == "holdings";
    if (same_for_many && !values.insert(figure.csv).second) continue;
    labels.push_back(full_label(data, g));
    figures.push_back(std::move(figure));
  }
  if (figures.size() > 1)
    throw UsageError(
        fmt::format("the chart {} is of one algorithm and setting: choose with --algorithm "
                    "LABEL and --where KEY=VALUE; there are {}",
                    request.chart, fmt::join(labels, ", ")));
  return figures.empty() ? PageFigure{} : figures.front();
}

/// The reason for which there is no such chart, where it is known.
std::string why_absent(const ReportData& data, std::string_view chart, const std::string& metric) {
  const auto is_large = [](const GroupNetwork& one) { return one.workers > kMostDrawnWorkers; };
  if ((chart == "topology" || chart == "pairing") && std::ranges::any_of(data.networks, is_large))
    return fmt::format(": graphs of more than {} workers are not drawn", kMostDrawnWorkers);
  const auto& differences = data.comparison.differences;
  if (chart != "difference" ||
      std::ranges::find(differences, metric, &ComparedDifference::metric) == differences.end())
    return "";
  return fmt::format(": {}; 'acid compare' has all numbers",
                     has_difference_chart(metric)
                         ? "no difference is both finite and more than rounding"
                         : "differences in outcomes are drawn, and it is none");
}

/// UsageError for what the chart would not be drawn by.
void refuse_unused(std::string_view chart, const FigureRequest& request, const ReadAt& at) {
  const auto refuse = [&](const char* option, const char* charts, const char* remedy) {
    throw UsageError(
        fmt::format("{} is for {}, and not for the chart {}{}", option, charts, chart, remedy));
  };
  const auto one = std::ranges::find(kFigureCharts, chart);
  const bool of_values = chart == "overview" || chart == "difference";
  if (at.kind != ReadAt::Kind::last && !of_values)
    refuse("--at", "charts of values, overview and difference", "");
  if (!request.metric.empty() && chart != "curve" && chart != "difference")
    refuse("--metric", "curve and difference", "");
  if (!request.against.empty() && chart != "curve") refuse("--against", "curve", "");
  if (!request.algorithm.empty() && one < std::ranges::find(kFigureCharts, "timeline"))
    refuse("--algorithm", "charts of one algorithm", ": choose with --where algorithm=NAME");
}

}  // namespace

PageFigure report_figure(const ReportData& data, const FigureRequest& request) {
  const std::vector<std::string_view> charts(kFigureCharts.begin(), kFigureCharts.end());
  const std::string_view chart =
      chosen(charts, request.chart, "chart", [](std::string_view name) { return name; });
  refuse_unused(chart, request, data.comparison.at);
  if (chart == "curve") return curve_figure(data, request);
  const std::string& differing = request.metric.empty() ? data.comparison.primary : request.metric;
  PageFigure figure;
  if (chart == "overview") {
    figure = draw_overview(data);
  } else if (chart == "difference") {
    figure = difference_forest(data, differing);
  } else if (chart == "ratio") {
    figure = ratio_forest(data);
  } else if (chart == "crossover") {
    figure = crossover_figure(data);
  } else if (chart == "runtime") {
    figure = runtime_figure(data);
    figure.csv = runtime_csv(data);
  } else {
    figure = group_figure(data, request);
  }
  if (!figure.drawing)
    throw UsageError(fmt::format("these runs have no chart '{}'{}{}{}", chart,
                                 request.metric.empty() ? "" : " of " + request.metric,
                                 request.algorithm.empty() ? "" : " of " + request.algorithm,
                                 why_absent(data, chart, differing)));
  return figure;
}

}  // namespace acid
