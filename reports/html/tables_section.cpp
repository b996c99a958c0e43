// Seeds and settings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reports/compare_formats.hpp"
#include "reports/grouping.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

/// The run's summary, with derived metrics once it is finished.
const RunSummary& shown_run(const Comparison& comparison, const RunDetail& detail) {
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs)
      if (run.id == detail.summary.id) return run;
  return detail.summary;
}

std::string verified_mark(const RunDetail& run) {
  const VerificationRow* const last = decisive_verification(run);
  if (last == nullptr) return "–";
  if (!last->equal) return "✗ differs";
  return last->altered.empty() ? "✓ bit for bit" : "✗ altered since";
}

std::string group_label(const Comparison& comparison, const RunDetail& run) {
  for (const ComparedGroup& group : comparison.groups)
    if (group.runs_group == run.summary.group) return group.label;
  return run.summary.algorithm;
}

std::string varying_table(const ReportData& data) {
  std::set<std::string> keys;
  for (const ComparedGroup& group : data.comparison.groups)
    keys.insert(group.varying.begin(), group.varying.end());
  if (keys.empty()) return paragraph("Only the algorithm differs between the groups.");
  HtmlTable table;
  table.csv = "settings-diff";
  table.caption = "What differs between the groups";
  table.head = {"algorithm"};
  table.head.insert(table.head.end(), keys.begin(), keys.end());
  table.first_number = table.head.size();
  for (std::size_t g = 0; g < data.comparison.groups.size(); ++g) {
    const ComparedGroup& group = data.comparison.groups[g];
    const FlatSettings flat = flatten(group.settings);
    std::vector<Markup> row{{swatch(data.styles[g]) + escaped(group.label)}};
    for (const std::string& key : keys) row.push_back(setting_cell(value_at(flat, key)));
    table.rows.push_back(std::move(row));
  }
  return table.html();
}

/// Settings with one value for every group; the seed is no setting of a group.
std::string common_settings(const ReportData& data) {
  const std::vector<FlatSettings> flat = flat_settings(data.comparison);
  if (flat.empty()) return "";
  HtmlTable table{.csv = "settings-common", .head = {"key", "value"}, .first_number = 2};
  for (const auto& setting : flat.front()) {
    const bool common = std::all_of(flat.begin(), flat.end(), [&](const FlatSettings& settings) {
      const auto found = settings.find(setting.first);
      return found != settings.end() && found->second == setting.second;
    });
    if (common) table.rows.push_back({code(setting.first), setting_cell(setting.second)});
  }
  if (table.rows.empty()) return "";
  return details(fmt::format("{} settings that all groups share", table.rows.size()), table.html());
}

/// The compared metrics, in that order, then a run's other ones.
std::vector<std::string> all_metrics(const ReportData& data) {
  std::vector<std::string> metrics = data.comparison.metrics;
  std::set<std::string> others;
  for (const RunDetail& run : data.runs)
    for (const auto& [metric, value] : shown_run(data.comparison, run).metrics)
      others.insert(metric);
  for (const std::string& metric : metrics) others.erase(metric);
  metrics.insert(metrics.end(), others.begin(), others.end());
  return metrics;
}

Markup run_metric_cell(const RunSummary& run, const std::string& metric) {
  const auto found = run.metrics.find(metric);
  if (found == run.metrics.end()) return {"–"};
  return number_text(format_metric_value(metric, found->second), found->second);
}

}  // namespace

std::string seeds_section(const ReportData& data) {
  const std::vector<std::string> metrics = all_metrics(data);
  HtmlTable table;
  table.csv = "runs";
  table.caption = "Final values; of runs that are not finished, as far as they came.";
  table.head = {"run", "algorithm"};
  for (const auto& [key, value] : data.comparison.points.front().settings)
    table.head.push_back(key);
  table.head.insert(table.head.end(), {"seed", "state", "verified"});
  const bool tagged = std::ranges::any_of(
      data.runs, [](const RunDetail& run) { return !run.summary.tags.empty(); });
  if (tagged) table.head.emplace_back("tags");
  table.first_number = table.head.size();
  for (std::string metric : metrics) {
    std::replace(metric.begin(), metric.end(), '_', ' ');  // so that long names can wrap
    table.head.push_back(std::move(metric));
  }
  for (const RunDetail& run : data.runs) {
    const RunSummary& shown = shown_run(data.comparison, run);
    std::vector<Markup> row{code(run.summary.id), text(group_label(data.comparison, run))};
    const FlatSettings flat = flatten(run.settings);
    for (const auto& [key, value] : data.comparison.points.front().settings)
      row.push_back(setting_cell(value_at(flat, key)));
    row.push_back(text(std::to_string(run.summary.seed)));
    row.push_back(text(state_name(run.summary.state)));
    row.push_back(text(verified_mark(run)));
    if (tagged) row.push_back(text(fmt::format("{}", fmt::join(run.summary.tags, " "))));
    for (const std::string& metric : metrics) row.push_back(run_metric_cell(shown, metric));
    table.rows.push_back(std::move(row));
  }
  return table.html();
}

std::string search_section(const ReportData& data) {
  std::string body;
  for (const Selection& selection : data.comparison.selections) {
    HtmlTable table;
    table.csv = fmt::format("search-{}", &selection - data.comparison.selections.data() + 1);
    table.head = {"algorithm"};
    for (const std::string& key : selection.settings()) table.head.push_back(key);
    table.first_number = table.head.size() + 2;
    table.head.insert(table.head.end(), {"chosen", "of", selection.metric});
    for (const Selection::Choice& choice : selection.choices) {
      std::vector<Markup> row{text(choice.label)};
      for (const auto& [key, value] : choice.settings) row.push_back(setting_cell(value));
      row.push_back(text(chosen_words(choice)));
      row.push_back(text(tried_words(choice)));
      row.push_back(number_text(format_number(choice.winner().mean), choice.winner().mean));
      table.rows.push_back(std::move(row));
    }
    for (const ComparedNote& note :
         selection_notes(selection, chose_for_all(data.comparison, selection)))
      body += paragraph(note.text + ".");
    body += table.html();
  }
  return body;
}

std::string settings_section(const ReportData& data) {
  return varying_table(data) + common_settings(data);
}

}  // namespace acid
