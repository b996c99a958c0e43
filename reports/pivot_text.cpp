// A sweep as one table for a screen, a spreadsheet, a page; and the screen's view of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/base/names.hpp"
#include "reports/compare_formats.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/pivot.hpp"
#include "reports/settings.hpp"
#include "reports/tags.hpp"
#include "reports/targets.hpp"
#include "reports/text_table.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

/// Means alone: with the same decimals if those show four digits of the largest, else each its own.
PivotNumbers means_alone(const Pivot& pivot, const Comparison& comparison) {
  double largest = 0, smallest = INFINITY;
  for (const ComparedGroup& group : comparison.groups)
    if (const auto found = group.metrics.find(pivot.metric); found != group.metrics.end()) {
      const double size = std::abs(found->second.mean);
      largest = std::max(largest, size);
      if (size != 0) smallest = std::min(smallest, size);
    }
  if (has_unit(pivot.metric) || !(largest < 1e4) || !(smallest >= 1e-3)) return {.interval = false};
  return {.interval = false,
          .decimals = largest < 1 ? 4 : 3 - static_cast<int>(std::floor(std::log10(largest)))};
}

/// All columns beside each other or, if they do not fit, as many as do and the others below.
std::string part_text(const ReportTable& table, std::array<std::size_t, 2> rows,
                      const TextLines& lines) {
  std::string text;
  const std::size_t columns = table.columns.size() - table.keys;
  for (std::size_t left = 0, right = 0; left < columns; left = right) {
    right = columns;
    const auto part = [&] { return text_table(table.part(rows, {left, right}), lines); };
    while (right > left + 1 && !part().fits_whole()) --right;
    text += (left == 0 ? "" : "\n") + part().str();
  }
  return text;
}

bool has_intervals(const Pivot& pivot, const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups, [&](const ComparedGroup& group) {
    return group.estimate_of(pivot.metric).ci_high.has_value();
  });
}

/// Explains the numbers and the mark.
std::string legend(const Pivot& pivot, const Comparison& comparison, bool interval) {
  const bool any_value = std::ranges::any_of(comparison.groups, [&](const ComparedGroup& group) {
    return group.metrics.contains(pivot.metric);
  });
  std::string text = !any_value                          ? "no values"
                     : !has_intervals(pivot, comparison) ? "values of one seed"
                     : interval ? "means ± half of the 95 % interval over seeds"
                                : "means over seeds; their intervals are in the details";
  const bool any_equivalent = std::ranges::find(pivot.equivalent, true) != pivot.equivalent.end();
  if (const std::string margin = equivalence_legend(pivot, comparison); !margin.empty())
    text += fmt::format("; {}{}", any_equivalent ? std::string(kEquivalentMark) + " " : "", margin);
  if (pivot.tests == 0) return text;
  const bool any = std::ranges::find(pivot.best, true) != pivot.best.end();
  return text + fmt::format(
                    "; {}better than all others of its setting, p ≤ {} (paired by seed, "
                    "Holm over all {} of algorithms at a setting)",
                    any ? std::string(kBestMark) + " " : "no entry was shown to be ",
                    ComparedDifference::kSignificance, counted(pivot.tests, "pair"));
}

/// Per algorithm, the number of settings at which its difference to the baseline was shown.
std::string judgements(const Comparison& comparison, const std::string& metric,
                       const TextLines& lines) {
  const auto counts = judgements_in(comparison, metric);
  if (counts.empty() || better_direction(metric) == 0) return {};
  // These are always told.
  std::map<Judgement, int> sums{
      {Judgement::better, 1}, {Judgement::worse, 1}, {Judgement::not_shown, 1}};
  for (const auto& [label, own] : counts)
    for (const auto& [judgement, count] : own) sums[judgement] += count;
  TextTable table{
      .alignment = {TextTable::Align::left}, .rows = {{""}}, .indent = "  ", .lines = lines};
  for (const auto& [judgement, sum] : sums) {
    table.alignment.push_back(TextTable::Align::right);
    table.rows.front().push_back(verdict_name(comparison, metric, judgement));
  }
  for (const auto& [label, own] : counts) {
    std::vector<std::string>& row = table.rows.emplace_back(1, label);
    for (const auto& [judgement, sum] : sums)
      row.push_back(std::to_string(own.contains(judgement) ? own.at(judgement) : 0));
  }
  const auto last =
      std::ranges::find(comparison.differences.rbegin(), comparison.differences.rend(), metric,
                        &ComparedDifference::metric);
  return wrapped(fmt::format("in how many settings a difference to {} was shown (Holm over {})",
                             group_of(comparison, last->baseline).label,
                             counted(last->family, "comparison")),
                 lines.prose(), "  ") +
         "\n" + table.str();
}

std::string note_lines(const Comparison& comparison, const std::vector<std::string>& metrics,
                       bool differences, const TextLines& lines) {
  const TableNotes notes = table_notes(comparison, metrics, differences);
  std::string text;
  for (const auto& list : {notes.general, notes.of_settings})
    for (const std::string& note : list)
      text += wrapped("note: " + note, lines.prose(), "  ") + "\n";
  return text;
}

/// "to eval_loss = 0.5"; empty for a metric without a target.
std::string target_of_table(const Pivot& pivot, const Comparison& comparison) {
  const std::string targets = is_to_target(pivot.metric) ? targets_of(comparison) : "";
  return targets.empty() ? "" : fmt::format("to {}", targets);
}

std::string text_of_table(const Pivot& pivot, const Comparison& comparison, bool colour,
                          const TextLines& lines) {
  const auto table_with = [&](const PivotNumbers& numbers) {
    ReportTable table = table_of(pivot, comparison, numbers);
    const auto first = table.columns.begin();  // leading axes are above the parts
    table.columns.erase(first, first + static_cast<std::ptrdiff_t>(pivot.leading));
    table.keys -= pivot.leading;
    return table;
  };
  ReportTable table = table_with({});
  const bool interval = has_intervals(pivot, comparison) && text_table(table, lines).fits_whole();
  if (!interval) table = table_with(means_alone(pivot, comparison));
  const Ink ink{colour};
  std::string text = ink.bold(pivot.metric);
  std::string about = target_of_table(pivot, comparison);
  if (const int better = better_direction(pivot.metric); better != 0)
    about +=
        fmt::format("{}{} is better", about.empty() ? "" : "; ", better > 0 ? "higher" : "lower");
  if (!about.empty()) text += "  " + about;
  text += "\n";
  for (std::size_t first = 0, last = 0; first < pivot.rows.size(); first = last) {
    const auto lead = [&](std::size_t row) {
      return std::vector<std::string>(
          pivot.rows[row].begin(),
          pivot.rows[row].begin() + static_cast<std::ptrdiff_t>(pivot.leading));
    };
    while (last < pivot.rows.size() && lead(last) == lead(first)) ++last;
    std::string title;
    for (std::size_t a = 0; a < pivot.leading; ++a)
      title += fmt::format("{}{} = {}", a == 0 ? "" : ", ", pivot.row_axes[a].title,
                           pivot.rows[first][a]);
    if (!title.empty())
      text += (first == 0 ? "" : "\n") + ink.bold(wrapped(title, lines.prose())) + "\n";
    text += part_text(table, {first, last}, lines);
  }
  return text + wrapped("  " + legend(pivot, comparison, interval), lines.prose(), "  ") + "\n";
}

}  // namespace

std::string to_text(const Pivot& pivot, const Comparison& comparison, bool colour,
                    const TextLines& lines) {
  return text_of_table(pivot, comparison, colour, lines) +
         note_lines(comparison, {pivot.metric}, false, lines);
}

std::string to_csv(const Pivot& pivot, const Comparison& comparison) {
  std::vector<std::string> header;
  for (const PivotAxis& axis : pivot.row_axes) header.push_back(axis.title);
  const bool margin = !equivalence_legend(pivot, comparison).empty();
  const std::vector<ReportColumn> columns = table_of(pivot, comparison).columns;
  for (std::size_t c = pivot.row_axes.size(); c < columns.size(); ++c) {
    const std::string& title = columns[c].heads.back().text;
    for (const char* what : {"", " half_width", " best", " notes"}) header.push_back(title + what);
    if (margin) header.push_back(title + " equivalent");
    if (is_to_target(pivot.metric)) header.push_back(title + " target");
  }
  std::string text = csv_line(header);
  for (std::size_t r = 0; r < pivot.rows.size(); ++r) {
    std::vector<std::string> fields = pivot.rows[r];
    std::ranges::replace(fields, std::string(kNoValue), std::string());
    for (const auto& group : pivot.cells[r]) {
      const Estimate e = group ? comparison.groups[*group].estimate_of(pivot.metric) : Estimate{};
      fields.push_back(e.n > 0 ? csv_number(e.mean) : "");
      fields.push_back(e.ci_high ? csv_number(*e.ci_high - e.mean) : "");
      fields.emplace_back(group && pivot.best[*group] ? "1" : "");
      fields.push_back(
          group ? note_field(comparison, comparison.groups[*group].group, pivot.metric, false)
                : "");
      if (margin) fields.emplace_back(group && pivot.equivalent[*group] ? "1" : "");
      if (is_to_target(pivot.metric))
        fields.push_back(group ? targets_of(comparison, {*group}) : "");
    }
    text += csv_line(fields);
  }
  return text;
}

std::string to_markdown(const Pivot& pivot, const Comparison& comparison) {
  const std::string target = target_of_table(pivot, comparison);
  std::string text = fmt::format("{}\n\n{}{}{}\n\n{}", markdown_cell(comparison.heading),
                                 tag_markdown(comparison.tagged), pivot.metric,
                                 target.empty() ? "" : " " + markdown_cell(target),
                                 markdown_table(table_of(pivot, comparison)));
  text += "\n- " + legend(pivot, comparison, true) + "\n";
  const TableNotes notes = table_notes(comparison, {pivot.metric}, false);
  for (const auto& list : {notes.general, notes.of_settings})
    for (const std::string& note : list) text += fmt::format("- {}\n", note);
  return text;
}

std::string to_screen(const Comparison& comparison, bool colour, const std::string& command,
                      const std::vector<std::string>& metrics, const TextLines& lines) {
  const std::vector<std::string> shown = pivot_metrics(comparison, metrics);
  if (comparison.points.size() <= kMostDetailedPoints || shown.empty())
    return to_text(comparison, colour, lines);
  std::string text = Ink{colour}.bold(wrapped(comparison.heading, lines.prose(), "  ")) + "\n" +
                     tag_text(comparison.tagged, lines);
  for (const std::string& metric : shown) {
    text += "\n" + text_of_table(pivot_of(comparison, metric), comparison, colour, lines);
    if (const std::string counts = judgements(comparison, metric, lines); !counts.empty())
      text += "\n" + counts;
  }
  if (const std::string notes = note_lines(comparison, shown, true, lines); !notes.empty())
    text += "\n" + notes;
  return text + fmt::format("\n{} settings; every metric and verdict of each: {}\n",
                            comparison.points.size(), command);
}

}  // namespace acid
