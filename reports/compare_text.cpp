// A comparison for a terminal 80 columns wide.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/recorder/metrics.hpp"
#include "reports/compare.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr int kTerminalColumns = 80;
using Align = TextTable::Align;

/// Totals share one table; every other metric has a block of its own.
constexpr std::array<std::string_view, 4> kTotals{"gradients", "seconds", "bytes",
                                                  "gradients_per_second"};

bool is_total(std::string_view metric) {
  return std::find(kTotals.begin(), kTotals.end(), metric) != kTotals.end();
}

std::string_view direction(std::string_view name) {
  if (name == "consensus_distance_mid") return "mean over 20-50 % of the budget; lower is closer";
  const Metric* metric = find_metric(name);
  if (metric == nullptr || metric->better == 0) return "";
  return metric->better > 0 ? "higher is better" : "lower is better";
}

struct Ink {
  bool colour;
  std::string bold(std::string_view text) const { return paint("\x1b[1m", text); }
  std::string dim(std::string_view text) const { return paint("\x1b[2m", text); }

 private:
  std::string paint(std::string_view code, std::string_view text) const {
    return colour ? fmt::format("{}{}\x1b[0m", code, text) : std::string(text);
  }
};

std::string metric_block(const Comparison& comparison, const ComparedPoint& point,
                         const std::string& metric) {
  const ComparedRatio* any_ratio = nullptr;
  for (const std::size_t g : point.groups)
    if (const auto* ratio = find_ratio(comparison, comparison.groups[g].group, metric))
      any_ratio = ratio;
  TextTable table;
  table.indent = "  ";
  table.total = kTerminalColumns;
  table.alignment = {Align::left, Align::right, Align::right, Align::right, Align::right};
  const std::string last =
      any_ratio ? "/ " + shortened(group_of(comparison, any_ratio->reference).label, 16) : "p";
  table.rows.push_back({"", "n", "mean ± 95 %", any_ratio ? "" : "difference", last});
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    const auto found = group.metrics.find(metric);
    const Estimate e = found == group.metrics.end() ? Estimate{} : found->second;
    std::vector<std::string> row{group.label, std::to_string(e.n), format_metric(metric, e), "",
                                 ""};
    if (any_ratio) {
      const auto* ratio = find_ratio(comparison, group.group, metric);
      row[4] =
          ratio ? format_ratio(ratio->value) : (group.group == any_ratio->reference ? "1" : "–");
    } else if (const auto* difference = find_difference(comparison, group.group, metric)) {
      row[3] = format_metric(metric, difference->value.difference);
      row[4] = format_p(difference->value.p);
    } else if (point.baseline == g) {
      row[3] = "baseline";
    }
    table.rows.push_back(std::move(row));
  }
  return table.str();
}

std::string totals_block(const Comparison& comparison, const ComparedPoint& point,
                         const std::vector<std::string>& totals) {
  TextTable table;
  table.indent = "  ";
  table.total = kTerminalColumns;
  table.alignment = {Align::left};
  table.rows = {{""}};
  for (const std::string& metric : totals) {
    table.alignment.push_back(Align::right);
    table.rows.front().push_back(metric == "gradients_per_second" ? "gradients/s" : metric);
  }
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    std::vector<std::string> row{group.label};
    for (const std::string& metric : totals) {
      const auto found = group.metrics.find(metric);
      Estimate mean_only;
      if (found != group.metrics.end())
        mean_only = {found->second.n, found->second.mean, {}, {}, {}, {}};
      const std::string text = format_metric(metric, mean_only);
      row.push_back(text.substr(0, text.find(" ±")));
    }
    table.rows.push_back(std::move(row));
  }
  return table.str();
}

}  // namespace

std::string format_metric(const std::string& metric, const Estimate& estimate) {
  const bool bytes = metric.rfind("bytes", 0) == 0, seconds = metric.rfind("seconds", 0) == 0;
  if (estimate.n == 0 || (!bytes && !seconds)) return format_estimate(estimate);
  const auto text = [&](double value) {
    return bytes ? format_bytes(value) : format_seconds(value);
  };
  if (!estimate.ci_high) return text(estimate.mean) + " ± n/a";
  return fmt::format("{} ± {}", text(estimate.mean), text(*estimate.ci_high - estimate.mean));
}

std::string to_text(const Comparison& comparison, bool colour) {
  const Ink ink{colour};
  std::string text;
  std::vector<std::string> totals;
  for (const std::string& metric : comparison.metrics)
    if (is_total(metric)) totals.push_back(metric);
  for (const ComparedPoint& point : comparison.points) {
    if (!text.empty()) text += "\n";
    if (!point.settings.empty())
      text += ink.bold(wrapped(point_title(point), kTerminalColumns)) + "\n\n";
    for (const std::string& metric : comparison.metrics) {
      if (is_total(metric)) continue;
      text += ink.bold(metric);
      if (!direction(metric).empty()) text += ink.dim(fmt::format("  {}", direction(metric)));
      text += "\n" + metric_block(comparison, point, metric) + "\n";
    }
    if (!totals.empty())
      text +=
          ink.bold("totals") + ink.dim("  means") + "\n" + totals_block(comparison, point, totals);
  }
  if (!comparison.notes.empty()) text += "\n";
  for (const std::string& note : comparison.notes)
    text += ink.dim(wrapped("note: " + note, kTerminalColumns, "  ")) + "\n";
  return text;
}

}  // namespace acid
