#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reports/compare_formats.hpp"
#include "reports/equivalence.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"
#include "reports/targets.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

bool is_compared(const Comparison& comparison, std::string_view metric) {
  return std::find(comparison.metrics.begin(), comparison.metrics.end(), metric) !=
         comparison.metrics.end();
}

Markup metric_cell(const std::string& metric, const ComparedGroup& group) {
  const std::string reached =
      censored(group, metric) > 0 ? "reached by " + reached_cell(group, metric) : "";
  const Estimate e = group.estimate_of(metric);
  if (e.n == 0) return reached.empty() ? Markup{"–"} : text(reached);
  const bool total = metric.rfind("gradients", 0) == 0 || metric.rfind("seconds", 0) == 0 ||
                     metric.rfind("bytes", 0) == 0;
  // Totals hardly differ between seeds; every run's are in a table of their own.
  Markup cell =
      number_text(total ? format_metric_value(metric, e.mean) : format_metric(metric, e), e.mean);
  if (!reached.empty()) cell.html += fmt::format("<br><small>{}</small>", reached);
  return cell;
}

/// The result of a group's test in the primary outcome.
Markup tested_cell(const Comparison& comparison, std::size_t g) {
  const auto* const tested =
      find_difference(comparison, comparison.groups[g].group, comparison.primary);
  if (tested == nullptr) return {is_baseline(comparison, g, comparison.primary) ? "baseline" : "–"};
  const std::string words = verdict_with_p(*tested);
  const std::optional<double> p = deciding_p(*tested);
  if (!p) return text(words);
  Markup cell = number_text(words, *p);
  const auto seeds = [&](std::optional<int> needed, const std::string& what) {
    if (needed)
      cell.html += fmt::format("<br><small>{} seeds would show {}, {:.0f} % power</small>", *needed,
                               escaped(what), 100 * kPower);
  };
  const Judgement judgement = judge(*tested);
  if (judgement == Judgement::not_shown && tested->value.unequal < tested->value.pairs)
    cell.html += fmt::format("<br><small>{} of {} pairs tie</small>",
                             tested->value.pairs - tested->value.unequal, tested->value.pairs);
  if (judgement == Judgement::not_shown || judgement == Judgement::too_few_seeds) {
    seeds(tested->seeds_to_show, "it");
    if (tested->equivalence)
      seeds(tested->equivalence->seeds_to_show, margin_words(tested->equivalence->margin));
  }
  return cell;
}

/// The first cells of every table by group.
std::vector<Markup> group_cells(const ReportData& data, const ComparedPoint& point, std::size_t g) {
  std::vector<Markup> row{{swatch(data.styles[g]) + escaped(data.comparison.groups[g].label)}};
  for (const auto& [key, value] : point.settings) row.push_back(setting_cell(value));
  const ComparedGroup& group = data.comparison.groups[g];
  Markup count = text(std::to_string(group.runs.size()));
  if (!group.diverged.empty())
    count.html += fmt::format("<br><small>{} of {} diverged</small>", group.diverged.size(),
                              group.outcomes());
  row.push_back(std::move(count));
  return row;
}

std::vector<std::string> group_heads(const Comparison& comparison) {
  std::vector<std::string> head{"algorithm"};
  for (const auto& [key, value] : comparison.points.front().settings) head.push_back(key);
  head.emplace_back("n");
  return head;
}

Markup absent_or(std::optional<double> value) {
  return value ? number_text(format_number(*value), *value) : Markup{"–"};
}

/// One row per group and metric, for further computations.
std::string spread_table(const ReportData& data) {
  HtmlTable table;
  table.csv = "spread";
  table.head = group_heads(data.comparison);
  table.first_number = table.head.size() + 2;
  table.head.insert(table.head.end(), {"diverged", "metric", "mean", "sd", "se", "95 % low",
                                       "95 % high", "median", "IQM"});
  for (const ComparedPoint& point : data.comparison.points)
    for (const std::size_t g : point.groups) {
      const ComparedGroup& group = data.comparison.groups[g];
      for (const std::string& metric : data.comparison.metrics) {
        if (!group.metrics.contains(metric) && !group.robust.contains(metric)) continue;
        const Estimate e = group.estimate_of(metric);
        const Robust known = group.robust_of(metric);
        std::vector<Markup> row = group_cells(data, point, g);
        row.back() = text(std::to_string(e.n));
        row.push_back(text(std::to_string(group.diverged.size())));
        row.push_back(text(metric));
        for (const auto& value : {e.n > 0 ? std::optional(e.mean) : std::nullopt, e.sd, e.se,
                                  e.ci_low, e.ci_high, known.median, known.iqm})
          row.push_back(absent_or(value));
        table.rows.push_back(std::move(row));
      }
    }
  return details("Every metric: mean, standard deviation, standard error, interval", table.html());
}

}  // namespace

std::string verdict_table(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  HtmlTable table;
  table.csv = "verdict";
  table.caption =
      "Means over the seeds that finished, ± the half-width of the 95 % t interval. Accuracy and "
      "losses are final: the last value of each run. Mid-run consensus is the mean of (1/n) Σ ‖xᵢ "
      "− x̄‖² between 20 and "
      "50 % of the budget or, where runs ended at different places, of the shortest. The exact p "
      "against the baseline are adjusted by Holm.";
  table.head = group_heads(comparison);
  table.first_number = table.head.size() - 1;
  std::vector<std::string> metrics;
  for (const Metric& metric : kMetricsIn<&Metric::verdict>)
    if (is_compared(comparison, metric.name)) {
      metrics.emplace_back(metric.name);
      table.head.push_back(with_target(std::string(metric.verdict.words), targets_of(comparison)));
      if (metric.name == comparison.primary) table.head.emplace_back("against the baseline");
    }
  for (const ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups) {
      std::vector<Markup> row = group_cells(data, point, g);
      for (const std::string& metric : metrics) {
        row.push_back(metric_cell(metric, comparison.groups[g]));
        if (metric == comparison.primary) row.push_back(tested_cell(comparison, g));
      }
      table.rows.push_back(std::move(row));
    }
  return table.html() + spread_table(data);
}

}  // namespace acid
