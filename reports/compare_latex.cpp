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

std::vector<std::string> key_cells(const Comparison& comparison, const ComparedGroup& group) {
  const FlatSettings flat = flatten(group.settings);
  std::vector<std::string> cells{latex_text(group.label)};
  for (const std::string& key : comparison.columns)
    cells.push_back(latex_text(value_text(value_at(flat, key))));
  return cells;
}

/// A table with the heads of the settings that differ within a section.
LatexTable table_with_keys(const Comparison& comparison) {
  LatexTable table{{{"Algorithm"}}, 1 + comparison.columns.size()};
  for (const std::string& key : comparison.columns) table.rows.front().push_back(latex_text(key));
  return table;
}

void add_cells(std::vector<std::string>& row, std::vector<std::string> cells) {
  row.insert(row.end(), cells.begin(), cells.end());
}

std::string difference_table(const Comparison& comparison, const ComparedSection& section) {
  LatexTable table = table_with_keys(comparison);
  ++table.keys;
  add_cells(table.rows.front(), {"Metric", "$n$", "Difference", "$p$ (Holm)"});
  const bool margins = !comparison.plan.margins.empty();
  if (margins) table.rows.front().emplace_back("Equivalent");
  for (const std::size_t g : section.groups)
    for (const std::string& metric : comparison.metrics) {
      const ComparedGroup& group = comparison.groups[g];
      const ComparedDifference* const d = find_difference(comparison, group.group, metric);
      if (d == nullptr) continue;
      table.rows.push_back(key_cells(comparison, group));
      add_cells(table.rows.back(),
                {latex_text(with_target(readable_name(metric), targets_of(comparison, {g})) +
                            own_baseline_words(comparison, *d)),
                 std::to_string(d->value.difference.n), latex_number(difference_cell(*d)),
                 d->p_holm ? latex_text(format_p(d->p_holm)) : "--"});
      if (margins) table.rows.back().push_back(equivalence_cell(*d));
    }
  if (table.rows.size() == 1) return "";
  return latex_comment("differences to " + comparison.baseline + ", paired by seed") + table.str();
}

std::string section_tables(const Comparison& comparison, const ComparedSection& section) {
  LatexTable table = table_with_keys(comparison);
  table.rows.front().emplace_back("$n$");
  for (const std::string& metric : comparison.metrics)
    table.rows.front().push_back(
        latex_text(with_target(readable_name(metric), targets_of(comparison, section.groups))));
  for (const std::size_t g : section.groups) {
    const ComparedGroup& group = comparison.groups[g];
    table.rows.push_back(key_cells(comparison, group));
    table.rows.back().push_back(count_cell(group));
    for (const std::string& metric : comparison.metrics)
      table.rows.back().push_back(group.metrics.contains(metric) || censored(group, metric) > 0
                                      ? latex_number(estimate_cell(group, metric))
                                      : "--");
  }
  return table.str() + difference_table(comparison, section);
}

}  // namespace

std::string to_latex(const Comparison& comparison, const std::string& caption) {
  std::string text = latex_comment(
      "needs \\usepackage{booktabs}; mean ± half of the 95 % Student-t "
      "interval over n seeds");
  text += latex_comment(comparison.heading);
  for (const Selection& selection : comparison.selections)
    for (const Selection::Choice& choice : selection.choices)
      text += latex_comment(chosen_line(choice));
  for (const std::string& sentence : verdict_sentences(comparison)) text += latex_comment(sentence);
  const TableNotes notes = table_notes(comparison, comparison.metrics, true);
  const std::string all_notes = latex_notes(notes.general) + latex_notes(notes.of_settings);
  for (const ComparedSection& section : comparison.sections) {
    const std::string title = section.settings.empty() ? "" : settings_title(section.settings);
    if (!title.empty()) text += latex_comment(title);
    const bool last = &section == &comparison.sections.back();
    const std::string inside = section_tables(comparison, section) + (last ? all_notes : "");
    const std::string number = comparison.sections.size() > 1
                                   ? fmt::format("-{}", &section - comparison.sections.data() + 1)
                                   : "";
    text +=
        caption.empty()
            ? inside
            : latex_float(
                  title.empty() ? caption : fmt::format("{} ({})", caption, latex_text(title)),
                  latex_label(comparison.heading.substr(0, comparison.heading.find(' '))) + number,
                  inside);
  }
  return comparison.sections.empty() ? text + all_notes : text;
}

}  // namespace acid
