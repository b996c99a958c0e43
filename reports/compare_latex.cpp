// A comparison as a table for a paper.
#include <fmt/format.h>

#include "reports/compare.hpp"
#include "reports/equivalence.hpp"
#include "reports/latex.hpp"
#include "reports/numbers.hpp"
#include "reports/point_readings.hpp"
#include "reports/primary.hpp"
#include "reports/settings.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

void start_row(std::string& text, const Comparison& comparison, const ComparedGroup& group) {
  const FlatSettings flat = flatten(group.settings);
  text += latex_text(group.label);
  for (const std::string& key : comparison.columns)
    text += " & " + latex_text(value_text(value_at(flat, key)));
}

std::string begin_table(const Comparison& comparison, std::size_t further_columns) {
  std::string text = fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\nAlgorithm",
                                 std::string(comparison.columns.size() + further_columns, 'r'));
  for (const std::string& key : comparison.columns) text += " & " + latex_text(key);
  return text;
}

constexpr const char* kEndHead = " \\\\\n\\midrule\n";
constexpr const char* kEndTable = "\\bottomrule\n\\end{tabular}\n";

std::string difference_table(const Comparison& comparison, const ComparedSection& section) {
  std::string rows;
  const bool margins = !comparison.plan.margins.empty();
  for (const std::size_t g : section.groups)
    for (const std::string& metric : comparison.metrics) {
      const ComparedGroup& group = comparison.groups[g];
      const ComparedDifference* const d = find_difference(comparison, group.group, metric);
      if (d == nullptr) continue;
      start_row(rows, comparison, group);
      rows +=
          fmt::format(" & {} & {} & {} & {}{} \\\\\n",
                      latex_text(with_target(readable_name(metric), targets_of(comparison, {g})) +
                                 own_baseline_words(comparison, *d)),
                      d->value.difference.n, latex_number(difference_cell(*d)),
                      d->p_holm ? latex_text(format_p(d->p_holm)) : "--",
                      margins ? " & " + latex_text(equivalence_cell(*d)) : "");
    }
  if (rows.empty()) return "";
  return latex_comment("differences to " + comparison.baseline + ", paired by seed") +
         begin_table(comparison, margins ? 5 : 4) + " & Metric & $n$ & Difference & $p$ (Holm)" +
         (margins ? " & Equivalent" : "") + kEndHead + rows + kEndTable;
}

}  // namespace

std::string to_latex(const Comparison& comparison) {
  std::string text = latex_comment(
      "needs \\usepackage{booktabs}; mean ± half of the 95 % Student-t "
      "interval over n seeds");
  text += latex_comment(comparison.heading);
  for (const Selection& selection : comparison.selections)
    for (const Selection::Choice& choice : selection.choices)
      text += latex_comment(
          fmt::format("{}{}: {}, of {}", choice.label,
                      choice.settings.empty() ? "" : " at " + settings_title(choice.settings),
                      chosen_words(choice), tried_words(choice)));
  for (const std::string& sentence : verdict_sentences(comparison)) text += latex_comment(sentence);
  for (const ComparedSection& section : comparison.sections) {
    if (!section.settings.empty()) text += latex_comment(settings_title(section.settings));
    text += begin_table(comparison, 1 + comparison.metrics.size()) + " & $n$";
    for (const std::string& metric : comparison.metrics)
      text += " & " + latex_text(with_target(readable_name(metric),
                                             targets_of(comparison, section.groups)));
    text += kEndHead;
    for (const std::size_t g : section.groups) {
      const ComparedGroup& group = comparison.groups[g];
      start_row(text, comparison, group);
      text += " & " + count_cell(group);
      for (const std::string& metric : comparison.metrics)
        text += " & " + (group.metrics.contains(metric) || censored(group, metric) > 0
                             ? latex_number(estimate_cell(group, metric))
                             : "--");
      text += " \\\\\n";
    }
    text += kEndTable;
    text += difference_table(comparison, section);
  }
  const TableNotes notes = table_notes(comparison, comparison.metrics, true);
  return text + latex_notes(notes.general) + latex_notes(notes.of_settings);
}

}  // namespace acid
