#include <fmt/format.h>

#include <cmath>

#include "reports/compare_formats.hpp"
#include "reports/html/forest.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/primary.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

ForestRow forest_row(const ReportData& data, std::size_t group, double value,
                     const std::optional<double>& low, const std::optional<double>& high,
                     bool survivors) {
  return {.label = data.comparison.groups[group].label,
          .style = data.styles[group],
          .value = value,
          .low = low,
          .high = high,
          .text = with_minus(format_interval(value, low, high)),
          .mark = survivors ? kSurvivors : ""};
}

/// Rows of every point, under a heading each if there are several.
template <class RowOf>
std::vector<ForestRow> rows_by_point(const Comparison& comparison, const RowOf& row_of) {
  std::vector<ForestRow> rows;
  for (const ComparedPoint& point : comparison.points) {
    std::vector<ForestRow> of_point;
    for (const std::size_t g : point.groups)
      if (auto row = row_of(g)) of_point.push_back(std::move(*row));
    if (of_point.empty()) continue;
    if (comparison.points.size() > 1)
      rows.push_back({.label = brief_title(point), .heading = true, .text = {}});
    rows.insert(rows.end(), of_point.begin(), of_point.end());
  }
  return rows;
}

/// The label that all groups of these digests share, else the words for several.
std::string common_label(const Comparison& comparison, const std::vector<std::string>& digests) {
  std::string label;
  for (const std::string& digest : digests) {
    const std::string& own = group_of(comparison, digest).label;
    if (!label.empty() && label != own) return "the baseline";
    label = own;
  }
  return shortened(label, kForestLongestHeading / 2);
}

/// Why no seed has a difference that is a number.
std::string why_no_mean(const ComparedGroup& group, const ComparedGroup& baseline,
                        const std::string& metric) {
  if (is_to_target(metric))
    return fmt::format("reached by {}, baseline by {}", reached_cell(group, metric),
                       reached_cell(baseline, metric));
  const auto words = [](const ComparedGroup& one) {
    return fmt::format("{} of {} diverged", one.diverged.size(), one.outcomes());
  };
  return group.diverged.empty() ? "baseline: " + words(baseline) : words(group);
}

}  // namespace

std::string interval_words(int family) {
  return family == 1 ? "95 % intervals"
                     : fmt::format("95 % intervals that hold for all {} at once", family);
}

bool has_difference_chart(const std::string& metric) {
  return is_outcome(metric) || is_way_to_target(metric);
}

PageFigure difference_forest(const ReportData& data, const std::string& name) {
  if (!has_difference_chart(name)) return {};
  const Comparison& comparison = data.comparison;
  std::vector<std::string> baselines;
  bool differs = false, survivors = false;
  int family = 1;
  Forest forest;
  forest.rows = rows_by_point(comparison, [&](std::size_t g) -> std::optional<ForestRow> {
    const ComparedGroup& group = comparison.groups[g];
    const auto* difference = find_difference(comparison, group.group, name);
    if (difference == nullptr) return std::nullopt;
    baselines.push_back(difference->baseline);
    const Estimate& e = difference->simultaneous;
    if (e.n == 0) {
      ForestRow row = forest_row(data, g, std::nan(""), {}, {}, false);
      row.text = why_no_mean(group, group_of(comparison, difference->baseline), name);
      return row;
    }
    differs = differs || difference->value.unequal > 0;
    family = difference->family;
    survivors = survivors || difference->is_of_survivors();
    return forest_row(data, g, e.mean, e.ci_low, e.ci_high, difference->is_of_survivors());
  });
  if (!differs) return {};
  forest.id = fmt::format("forest-{}", name);
  const std::string place = place_words(comparison);
  forest.title =
      fmt::format("Difference in {}{}{}", words_of(name), place.empty() ? "" : ", ", place);
  forest.x_label =
      fmt::format("difference to {}, paired by seed", common_label(comparison, baselines));
  forest.legend = interval_words(family) + (family == 1 ? "" : "; the test decides");
  forest.columns = {"difference", "simultaneous_ci_low", "simultaneous_ci_high"};
  if (survivors) forest.legend += "; * over the seeds that finished in both";
  forest.line = 0;
  forest.better = better_direction(name) > 0 ? "better →" : "← better";
  return draw_forest(forest);
}

PageFigure ratio_forest(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  std::vector<std::string> references;
  bool survivors = false, tested = false;
  Forest forest;
  forest.rows = rows_by_point(comparison, [&](std::size_t g) -> std::optional<ForestRow> {
    const ComparedGroup& group = comparison.groups[g];
    const auto* difference = find_difference(comparison, group.group, kMidConsensus);
    tested = tested || (difference != nullptr && difference->p_holm);
    const auto* ratio = find_ratio(comparison, group.group, kMidConsensus);
    if (ratio == nullptr) return std::nullopt;
    references.push_back(ratio->reference);
    survivors = survivors || ratio->diverged > 0;
    const PairedRatio& value = ratio->value;
    return forest_row(data, g, value.mean, value.ci_low, value.ci_high, ratio->diverged > 0);
  });
  if (forest.rows.empty()) return {};
  forest.id = "forest-consensus-ratio";
  forest.legend = fmt::format("95 % intervals, each for itself; {}",
                              tested ? "the test is of the differences" : "not tested");
  if (survivors) forest.legend += "; * over the seeds that finished in both";
  forest.title = "Ratio of mid-run consensus distance";
  forest.x_label =
      fmt::format("times that of {}, paired by seed", common_label(comparison, references));
  forest.line = 1;
  forest.logarithmic = true;
  forest.better = "← better";
  return draw_forest(forest);
}

std::string verdict_forests(const ReportData& data) {
  std::string out;
  for (const Metric& metric : kOutcomes)
    if (metric.name != kMidConsensus || data.comparison.primary == kMidConsensus)
      out += difference_forest(data, std::string(metric.name)).html();
  if (is_way_to_target(data.comparison.primary))
    out += difference_forest(data, data.comparison.primary).html();
  return out + ratio_forest(data).html();
}

}  // namespace acid
