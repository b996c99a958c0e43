#include <fmt/format.h>

#include <cctype>
#include <map>

#include "reports/html/crossover.hpp"
#include "reports/html/line_chart.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/known_metrics.hpp"
#include "reports/predicted.hpp"

namespace acid {
namespace {

constexpr std::size_t kMostRowsShown = 24, kMostCharts = 4;

HtmlTable scores_table(const ReportData& data, const std::vector<ScoreRow>& rows) {
  HtmlTable table{.csv = "predicted", .head = {"algorithm", "quantity"}, .first_number = 2};
  table.head.insert(table.head.end(), kScoreTitles.begin(), kScoreTitles.end());
  for (const ScoreRow& row : rows) {
    std::vector<Markup> cells{text(full_label(data, row.group)), text(score_name(row))};
    for (const std::string& cell : score_cells(row)) cells.push_back(number_text(cell));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// The curve of a group's metric, as predicted, with a thin line for each run.
ChartSeries curve_of(const ReportData& data, const ScoredGroup& group, const std::string& metric) {
  ChartSeries series;
  series.label = data.comparison.groups[group.group].label;
  series.style = data.styles[group.group];
  std::map<std::string, std::vector<CurvePoint>> runs;
  std::map<double, const PredictedValue*> predicted;
  for (const ScoredValue& one : group.values) {
    if (one.predicted.quantity != metric || !one.predicted.normalised_time) continue;
    const double time = *one.predicted.normalised_time;
    runs[one.run].push_back({time, one.measured});
    predicted.try_emplace(time, &one.predicted);
  }
  for (auto& [run, points] : runs) series.seeds.push_back(std::move(points));
  for (const auto& [time, value] : predicted)
    series.band.add(time, value->mean, value->low, value->high);
  if (!series.band.mean.empty()) series.final = fmt::format("{:.3g}", series.band.mean.back());
  return series;
}

/// The primary outcome's curves of each setting, if there are few.
std::string curve_figures(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  if (comparison.points.size() > kMostCharts) return "";
  const Metric* const metric = known_metric(comparison.primary);
  std::string html;
  for (std::size_t p = 0; p < comparison.points.size(); ++p) {
    const std::string setting = brief_title(comparison.points[p]);
    LineChart chart{
        .id = fmt::format("predicted-{}", p),
        .title = fmt::format("{}{}{}", metric != nullptr ? metric->curve.words : comparison.primary,
                             setting.empty() ? "" : ", ", setting),
        .x_label = "normalised time",
        .logarithmic = metric != nullptr && metric->logarithmic,
        .bands_only = true,
        .series = {}};
    for (const ScoredGroup& group : data.predictions.groups)
      if (std::ranges::find(comparison.points[p].groups, group.group) !=
          comparison.points[p].groups.end())
        if (ChartSeries series = curve_of(data, group, comparison.primary); !series.seeds.empty())
          chart.series.push_back(std::move(series));
    if (!chart.series.empty()) html += draw(chart).html();
  }
  return html.empty() ? "" : fmt::format("<div class=\"charts\">\n{}</div>\n", html);
}

}  // namespace

std::string predicted_section(const ReportData& data) {
  if (!data.predictions.any()) return "";
  const std::vector<ScoreRow> rows = score_rows(data.comparison, data.predictions);
  std::string body;
  if (!data.predictions.groups.empty()) {
    body += paragraph(
        "What was stored before these runs began, beside what they did. Bands: the interval in "
        "which one further run lies with a chance of 90 %; thin lines: the runs.");
    if (!crossover_key(data.comparison).empty()) body += crossover_figure(data).html();
    body += curve_figures(data);
    const std::string table = scores_table(data, rows).html();
    body += rows.size() > kMostRowsShown ? details("Every score", table) : table;
  }
  for (std::string sentence : score_notes(rows, data.predictions)) {
    sentence.front() = static_cast<char>(std::toupper(sentence.front()));
    body += note(sentence + ".");
  }
  return body;
}

}  // namespace acid
