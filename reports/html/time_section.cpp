#include <fmt/format.h>

#include "reports/html/markup.hpp"
#include "reports/html/network_charts.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/timeline.hpp"

namespace acid {
namespace {

/// Counts summed over the group's finished runs.
std::vector<std::int64_t> staleness_of(const ReportData& data, const std::string& group) {
  std::vector<std::int64_t> counts;
  for (const RunDetail& run : data.runs) {
    if (run.summary.group != group || run.summary.state != RunState::finished || !run.result)
      continue;
    const std::vector<std::int64_t>& of_run = run.result->staleness;
    if (of_run.size() > counts.size()) counts.resize(of_run.size(), 0);
    for (std::size_t k = 0; k < of_run.size(); ++k) counts[k] += of_run[k];
  }
  return counts;
}

std::string staleness_figures(const ReportData& data) {
  std::vector<std::string> figures;
  for (std::size_t g = 0; g < data.comparison.groups.size(); ++g)
    figures.push_back(staleness_figure(data, g).html());
  const std::string body = figures_by_point(data, "smalls", "Staleness", figures);
  if (body.empty()) return "";
  return "<h3>Staleness</h3>\n" +
         paragraph(
             "How many updates a worker’s parameters had received between the snapshot a gradient "
             "was computed at and its commit; shares of all gradients, over all seeds.") +
         body;
}

std::string timeline_figures(const ReportData& data) {
  const std::vector<TimelineData> drawn = timelines(data);
  const double end = timeline_end(drawn);
  if (!(end > 0)) return "";
  std::vector<std::string> figures(data.comparison.groups.size());
  for (std::size_t k = 0; k < drawn.size(); ++k)
    figures[drawn[k].group] = draw_timeline(drawn[k], k, end).html();
  return "<h3>The first gradients of every worker</h3>\n" +
         paragraph(
             "One row per worker, all on one time scale: a bar while it computes, a thin line "
             "while it waits, a mark at the foot of the row for an exchange, which goes on beside "
             "the computation; in rounds, for what an exchange takes longer than that. Of each "
             "group, the first seed that ran without a break.") +
         figures_by_point(data, "timelines", "Timelines", figures);
}

}  // namespace

PageFigure staleness_figure(const ReportData& data, std::size_t g) {
  return draw_staleness(fmt::format("staleness-{}", g), full_label(data, g), data.styles[g],
                        staleness_of(data, data.comparison.groups[g].runs_group));
}

std::string time_section(const ReportData& data) {
  std::string body;
  if (const PageFigure runtime = runtime_figure(data); !runtime.empty())
    body += paragraph(
                "Filled: computing; hollow: waiting for others; whisker: 95 % t interval of the "
                "sum over seeds.") +
            runtime.html();
  return body + timeline_figures(data) + staleness_figures(data);
}

}  // namespace acid
