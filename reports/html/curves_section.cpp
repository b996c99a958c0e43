#include <fmt/format.h>

#include "reports/html/line_chart.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/style.hpp"

namespace acid {
namespace {

struct AxisName {
  std::string_view tab, label;
};

AxisName name_of(Axis axis, bool simulated) {
  switch (axis) {
    case Axis::gradients:
      return {"gradients", "gradients, all workers"};
    case Axis::normalised_time:
      return {"normalised time", "normalised time"};
    case Axis::seconds:
      return simulated ? AxisName{"simulated seconds", "simulated seconds"}
                       : AxisName{"wall-clock seconds", "wall-clock seconds"};
    case Axis::bytes:
      return {"bytes sent", "bytes sent, all workers"};
  }
  return {};
}

bool is_simulated(const ReportData& data) {
  for (const RunDetail& run : data.runs)
    if (run.summary.driver != "virtual") return false;
  return true;
}

/// Empty when no group of the point recorded the metric.
std::string chart_of(const ReportData& data, std::size_t p, std::size_t m, std::size_t a) {
  LineChart chart;
  chart.id = fmt::format("c{}-{}-{}", p, m, a);
  chart.title = kCurveMetrics[m].title;
  chart.x_label = name_of(kAxes[a], is_simulated(data)).label;
  chart.x_axis = kAxes[a];
  chart.logarithmic = kCurveMetrics[m].logarithmic;
  for (const std::size_t g : data.comparison.points[p].groups) {
    const GroupCurves& curves = data.curves[g][m][a];
    if (!curves.seeds.empty())
      chart.series.push_back(
          {data.comparison.groups[g].label, data.styles[g], curves.seeds, curves.band});
  }
  return chart.series.empty() ? "" : draw(chart);
}

std::string legend(const ReportData& data, const ComparedPoint& point) {
  std::string out = "<div class=\"legend\">";
  for (const std::size_t g : point.groups)
    out += fmt::format("<span>{}{} <span class=\"note\">n = {}</span></span>",
                       swatch(data.styles[g]), escaped(data.comparison.groups[g].label),
                       data.comparison.groups[g].runs.size());
  return out + "</div>\n";
}

/// Radio buttons and style rules switch the axis; no script. The inputs come first because only
/// later siblings can be styled by them.
std::string point_curves(const ReportData& data, std::size_t p) {
  std::string inputs, tabs, panels;
  for (std::size_t a = 0; a < kAxes.size(); ++a) {
    inputs += fmt::format(
        "<input type=\"radio\" class=\"pick pick{1}\" name=\"axis{0}\" id=\"axis{0}-{1}\"{2}>\n", p,
        a, a == 0 ? " checked" : "");
    tabs += fmt::format("<label class=\"tab{1}\" for=\"axis{0}-{1}\">{2}</label>\n", p, a,
                        escaped(name_of(kAxes[a], is_simulated(data)).tab));
    std::string charts;
    for (std::size_t m = 0; m < kCurveMetrics.size(); ++m) charts += chart_of(data, p, m, a);
    if (charts.empty()) return "";
    panels += fmt::format("<div class=\"panel panel{}\">\n{}</div>\n", a, charts);
  }
  return fmt::format(
      "<div class=\"curves\">\n{}<div class=\"tabs\"><span>against</span>\n{}</div>\n{}{}</div>\n",
      inputs, tabs, legend(data, data.comparison.points[p]), panels);
}

}  // namespace

std::string curves_section(const ReportData& data) {
  std::string body;
  for (std::size_t p = 0; p < data.comparison.points.size(); ++p) {
    const std::string curves = point_curves(data, p);
    if (curves.empty()) continue;
    const std::string title = point_title(data.comparison.points[p]);
    if (!title.empty()) body += fmt::format("<h3>{}</h3>\n", escaped(title));
    body += curves;
  }
  if (body.empty()) return "";
  return "<section id=\"curves\">\n<h2>Curves</h2>\n" +
         paragraph(
             "Bold: mean over seeds, with its pointwise 95 % t interval shaded; faint: every seed. "
             "Means are taken over all recorded values, on 200 cells of the axis; only the faint "
             "lines are thinned, to the lowest and highest value per pixel column. Consensus "
             "distance has a logarithmic scale and geometric means.") +
         body + "</section>\n";
}

}  // namespace acid
