#include <fmt/format.h>

#include <algorithm>

#include "reports/html/curve_charts.hpp"
#include "reports/html/line_chart.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

TickFormat ticks_of(const CurveAxis& axis) {
  if (axis.measured == PositionAxis::bytes) return &format_bytes;
  const bool counts = axis.measured == PositionAxis::gradients && !axis.in_epochs;
  return counts ? &format_count : &format_number;
}

/// Keeps every so many of the band's cells and the last, so that no more than `most` are left.
Band coarser(const Band& band, std::size_t most) {
  if (band.x.empty()) return band;
  const std::size_t step = (band.x.size() + most - 1) / most;
  Band kept;
  for (std::size_t k = (band.x.size() - 1) % step; k < band.x.size(); k += step)
    kept.add(band.x[k], band.mean[k], band.low[k], band.high[k]);
  return kept;
}

ChartSeries series_of(const ReportData& data, std::size_t g, std::size_t m, std::size_t a) {
  const GroupCurves& curves = data.curves[g][m];
  ChartSeries series;
  series.label = curve_label(data.comparison.groups[g]);
  series.style = data.styles[g];
  const Estimate final = final_value(data, g, data.metrics[m].name);
  series.final = final.n > 0 ? format_number(final.mean, 3) : "an end that is not known";
  series.band = coarser(curves.bands[a], static_cast<std::size_t>(data.detail.drawn_cells));
  for (const SeedCurve& seed : curves.seeds) {
    std::vector<CurvePoint> line;
    for (const SeriesPoint& point : seed.points)
      line.push_back(
          {place_on(point.position, data.axes[a], data.gradients_per_epoch[g]), point.value});
    series.seeds.push_back(thinned(line, line.back().x, data.detail.drawn_points / 2));
    series.whole = series.whole && seed.whole && series.seeds.back().size() == line.size();
  }
  return series;
}

std::string legend(const ReportData& data, const ComparedPoint& point) {
  std::string out = "<div class=\"legend\">";
  for (const std::size_t g : point.groups) {
    std::size_t seeds = 0;
    for (const GroupCurves& curves : data.curves[g]) seeds = std::max(seeds, curves.seeds.size());
    out +=
        fmt::format("<span>{}<bdi>{}</bdi> <span class=\"note\">n = {}</span></span>",
                    swatch(data.styles[g]), escaped(curve_label(data.comparison.groups[g])), seeds);
  }
  return out + "</div>\n";
}

/// The point's charts against one axis; secondary ones are folded away.
std::string panel(const ReportData& data, const std::vector<CurveChart>& charts, std::size_t p,
                  std::size_t a) {
  if (data.detail.drawn_cells == 0) return "";
  std::string first, folded;
  for (const CurveChart& chart : charts)
    if (chart.point == p)
      (data.metrics[chart.metric].folded ? folded : first) += draw_curves(data, chart, a).html();
  if (!folded.empty())
    folded = fmt::format("<details class=\"more\">\n<summary>More curves</summary>\n{}</details>\n",
                         folded);
  return fmt::format("<div class=\"panel panel{}\">\n{}{}</div>\n", a, first, folded);
}

/// Radio buttons and style rules switch the axis, without script. The inputs come first because
/// only later siblings can be styled by them.
std::string point_curves(const ReportData& data, const std::vector<CurveChart>& charts,
                         std::size_t p) {
  std::string inputs, tabs, panels;
  for (std::size_t a = 0; a < data.axes.size(); ++a) {
    inputs += fmt::format(
        "<input type=\"radio\" class=\"pick pick{1}\" name=\"axis{0}\" id=\"axis{0}-{1}\" "
        "value=\"{2}\"{3}>\n",
        p, a, data.axes[a].key, a == 0 ? " checked" : "");
    tabs += fmt::format("<label class=\"tab{1}\" for=\"axis{0}-{1}\">{2}</label>\n", p, a,
                        escaped(data.axes[a].tab));
    panels += panel(data, charts, p, a);
  }
  return fmt::format(
      "<div class=\"curves\" data-point=\"{}\">\n{}<div class=\"tabs\"><span>against</span>\n"
      "{}</div>\n{}<div class=\"panels\">\n{}</div>\n</div>\n",
      p, inputs, tabs, legend(data, data.comparison.points[p]), panels);
}

}  // namespace

PageFigure draw_curves(const ReportData& data, const CurveChart& curves, std::size_t a) {
  const CurveAxis& axis = data.axes[a];
  const Metric& metric = data.metrics[curves.metric];
  LineChart chart{.id = fmt::format("{}-{}", curves.id, axis.key),
                  .title = std::string(metric.curve.words),
                  .x_label = std::string(axis.label),
                  .x_ticks = ticks_of(axis),
                  .logarithmic = metric.logarithmic,
                  .series = {}};
  for (const std::size_t g : curves.groups)
    if (!axis.in_epochs || data.gradients_per_epoch[g] > 0)
      chart.series.push_back(series_of(data, g, curves.metric, a));
  for (const ChartBound& bound : curves.bounds)
    chart.references.push_back({bound.label, bound.note, bound.style, bound.on_axes[a]});
  PageFigure figure = draw(chart);
  if (!figure.drawing) return figure;
  std::string& legend = figure.drawing->legend;
  for (const std::size_t g : data.comparison.points[curves.point].groups)
    if (const ComparedGroup& group = data.comparison.groups[g]; !group.diverged.empty())
      legend += fmt::format("{}{}: {} of {} diverged and are not drawn", legend.empty() ? "" : "; ",
                            group.label, group.diverged.size(), group.outcomes());
  return figure;
}

std::string curves_section(const ReportData& data) {
  const std::vector<CurveChart> charts = curve_charts(data);
  std::string body;
  for (std::size_t p = 0; p < data.comparison.points.size(); ++p) {
    if (std::ranges::none_of(charts, [&](const CurveChart& chart) { return chart.point == p; }))
      continue;
    const ComparedPoint& point = data.comparison.points[p];
    const std::string title = point.settings.empty() ? "" : brief_title(point);
    if (!title.empty()) body += fmt::format("<h3>{}</h3>\n", escaped(title));
    body += point_curves(data, charts, p);
  }
  if (body.empty()) return "";
  return paragraph(
             "Bold: mean over seeds, with its pointwise 95 % t interval shaded, and a dotted edge "
             "where that goes on beyond it; faint: every seed that did not diverge. Means are "
             "taken over all recorded values, on equal cells of the axis; cells without a value "
             "have no mean. Where only "
             "other seeds have values, the line that joins a seed's values stands for it. What is "
             "too much to draw is thinned: means to every so many cells, faint lines to lowest and "
             "highest values. Numbers below a chart are "
             "final values until the cursor is in it: of every run its last value. Consensus "
             "distance has a logarithmic scale and geometric means; a thin dashed line beside it "
             "is what theory says.") +
         body;
}

}  // namespace acid
