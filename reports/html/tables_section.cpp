// Seeds and settings.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/style.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

/// A run's group and its metrics, derived ones included; nullptr while it is unfinished.
const RunSummary* finished_run(const Comparison& comparison, const std::string& id) {
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs)
      if (run.id == id) return &run;
  return nullptr;
}

std::string group_label(const Comparison& comparison, const RunDetail& run) {
  for (const ComparedGroup& group : comparison.groups)
    if (group.group == run.summary.group) return group.label;
  return run.summary.algorithm;
}

std::string varying_table(const ReportData& data) {
  std::set<std::string> keys;
  for (const ComparedGroup& group : data.comparison.groups)
    keys.insert(group.varying.begin(), group.varying.end());
  if (keys.empty()) return paragraph("Only the algorithm differs between the groups.");
  HtmlTable table;
  table.caption = "What varies";
  table.head = {"algorithm"};
  table.head.insert(table.head.end(), keys.begin(), keys.end());
  table.first_number = table.head.size();
  for (std::size_t g = 0; g < data.comparison.groups.size(); ++g) {
    const ComparedGroup& group = data.comparison.groups[g];
    const FlatSettings flat = flatten(group.settings);
    std::vector<Markup> row{{swatch(data.styles[g]) + escaped(group.label)}};
    for (const std::string& key : keys)
      row.push_back(flat.count(key) > 0 ? text(value_text(value_at(flat, key))) : Markup{"–"});
    table.rows.push_back(std::move(row));
  }
  return table.html();
}

std::string all_settings(const ReportData& data) {
  std::vector<FlatSettings> flat;
  std::set<std::string> keys;
  for (const ComparedGroup& group : data.comparison.groups) {
    flat.push_back(flatten(group.settings));
    for (const auto& [key, value] : flat.back()) keys.insert(key);
  }
  HtmlTable table;
  table.head = {"key", "value"};
  table.first_number = 2;
  for (const std::string& key : keys) {
    std::set<std::string> values;
    for (const FlatSettings& settings : flat)
      if (settings.count(key) > 0) values.insert(value_text(value_at(settings, key)));
    std::string all;
    for (const std::string& value : values) all += (all.empty() ? "" : " · ") + value;
    table.rows.push_back({code(key), text(all)});
  }
  return table.html();
}

}  // namespace

std::string seeds_section(const ReportData& data) {
  HtmlTable table;
  table.head = {"run", "algorithm"};
  for (const auto& [key, value] : data.comparison.points.front().settings)
    table.head.push_back(key);
  table.head.insert(table.head.end(), {"seed", "state"});
  table.first_number = table.head.size();
  for (std::string metric : data.comparison.metrics) {
    std::replace(metric.begin(), metric.end(), '_', ' ');  // so that long names can wrap
    table.head.push_back(std::move(metric));
  }
  for (const RunDetail& run : data.runs) {
    const RunSummary* finished = finished_run(data.comparison, run.summary.id);
    std::vector<Markup> row{code(run.summary.id), text(group_label(data.comparison, run))};
    const FlatSettings flat = flatten(run.settings);
    for (const auto& [key, value] : data.comparison.points.front().settings)
      row.push_back(text(value_text(value_at(flat, key))));
    row.push_back(text(std::to_string(run.summary.seed)));
    row.push_back(text(state_name(run.summary.state)));
    for (const std::string& metric : data.comparison.metrics) {
      const bool known = finished != nullptr && finished->metrics.count(metric) > 0;
      if (!known) {
        row.push_back({"–"});
        continue;
      }
      const std::string words =
          format_metric(metric, {1, finished->metrics.at(metric), {}, {}, {}, {}});
      row.push_back(number_text(words.substr(0, words.find(" ±"))));
    }
    table.rows.push_back(std::move(row));
  }
  return "<section id=\"seeds\">\n<h2>Every run</h2>\n" + table.html() + "</section>\n";
}

std::string settings_section(const ReportData& data) {
  return "<section id=\"settings\">\n<h2>Settings</h2>\n" + varying_table(data) +
         details("All settings", all_settings(data)) + "</section>\n";
}

}  // namespace acid
