// A comparison as tables, and these as Markdown and as LaTeX.
#include <fmt/format.h>

#include <algorithm>

#include "reports/compare_formats.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/latex.hpp"
#include "reports/numbers.hpp"
#include "reports/primary.hpp"
#include "reports/readings.hpp"
#include "reports/settings.hpp"
#include "reports/tags.hpp"
#include "reports/targets.hpp"

namespace acid {
namespace {

using Align = TextTable::Align;
using Kind = ReportCell::Kind;

ReportCell mean_cell(const ComparedGroup& group, const std::string& metric) {
  const std::string text = estimate_cell(group, metric);
  if (group.metrics.contains(metric) || censored(group, metric) > 0) return {text, Kind::number};
  return {text, Kind::words, "–"};
}

/// "Test accuracy" in print of eval_accuracy.
ReportCell metric_cell(const Comparison& comparison, const std::string& metric,
                       const std::vector<std::size_t>& groups, const std::string& more = {}) {
  return {metric + more, Kind::words,
          with_target(readable_name(metric), targets_of(comparison, groups)) + more};
}

/// What the searches chose, a line for each algorithm and setting.
std::vector<std::string> chosen_lines(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const Selection& selection : comparison.selections)
    for (const Selection::Choice& choice : selection.choices) lines.push_back(chosen_line(choice));
  return lines;
}

/// The estimates of a section's groups, a column for each metric.
ReportTable means_table(const Comparison& comparison, const ComparedSection& section) {
  const auto groups = groups_of(comparison, section);
  ReportTable table{key_columns(comparison, groups), 1 + comparison.columns.size()};
  ReportColumn& count =
      table.columns.emplace_back(ReportColumn{{{"n", Kind::symbol}}, Align::right, {}});
  for (const ComparedGroup* group : groups) count.cells.push_back({count_cell(*group)});
  for (const std::string& metric : comparison.metrics) {
    ReportColumn& column = table.columns.emplace_back(
        ReportColumn{{metric_cell(comparison, metric, section.groups)}, Align::right, {}});
    for (const ComparedGroup* group : groups) column.cells.push_back(mean_cell(*group, metric));
  }
  return table;
}

/// The differences of a section's groups to their baselines, a row each; there may be none.
ReportTable differences_table(const Comparison& comparison, const ComparedSection& section) {
  std::vector<const ComparedDifference*> rows;
  std::vector<const ComparedGroup*> groups;
  for (const ComparedGroup* group : groups_of(comparison, section))
    for (const std::string& metric : comparison.metrics)
      if (const auto* one = find_difference(comparison, group->group, metric)) {
        rows.push_back(one);
        groups.push_back(group);
      }
  ReportTable table{key_columns(comparison, groups), 2 + comparison.columns.size()};
  ReportColumn metrics{{{"metric", Kind::words, "Metric"}}, Align::left, {}},
      counts{{{"n", Kind::symbol}}, Align::right, {}},
      differences{{{"difference", Kind::words, "Difference"}}, Align::right, {}},
      p{{{"p (Holm)", Kind::symbol}}, Align::right, {}},
      equivalent{{{"equivalent", Kind::words, "Equivalent"}}, Align::left, {}};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const ComparedDifference& one = *rows[row];
    const auto g = static_cast<std::size_t>(groups[row] - comparison.groups.data());
    metrics.cells.push_back(
        metric_cell(comparison, one.metric, {g}, own_baseline_words(comparison, one)));
    counts.cells.push_back({std::to_string(one.value.difference.n)});
    differences.cells.push_back({difference_cell(one), Kind::number});
    p.cells.push_back({format_p(one.p_holm)});
    equivalent.cells.push_back({equivalence_cell(one)});
  }
  for (ReportColumn* column : {&metrics, &counts, &differences, &p})
    table.columns.push_back(std::move(*column));
  if (!comparison.plan.margins.empty()) table.columns.push_back(std::move(equivalent));
  return table;
}

}  // namespace

std::vector<ReportColumn> key_columns(const Comparison& comparison,
                                      std::span<const ComparedGroup* const> groups) {
  std::vector<ReportColumn> columns{{{{"algorithm", Kind::words, "Algorithm"}}, Align::left, {}}};
  for (const std::string& key : comparison.columns) columns.push_back({{{key}}, Align::right, {}});
  for (const ComparedGroup* group : groups) {
    const FlatSettings flat = flatten(group->settings);
    columns.front().cells.push_back({group->label});
    for (std::size_t k = 0; k < comparison.columns.size(); ++k)
      columns[1 + k].cells.push_back({value_text(value_at(flat, comparison.columns[k]))});
  }
  return columns;
}

std::string to_markdown(const Comparison& comparison) {
  std::string text = markdown_cell(comparison.heading) + "\n\n" + tag_markdown(comparison.tagged);
  for (const std::string& line : chosen_lines(comparison))
    text += fmt::format("- {}\n", markdown_cell(line));
  if (!comparison.selections.empty()) text += "\n";
  for (const ComparedSection& section : comparison.sections) {
    if (!section.settings.empty())
      text += fmt::format("### {}\n\n", markdown_cell(settings_title(section.settings)));
    text += markdown_table(means_table(comparison, section));
    for (const std::string& metric : comparison.metrics)
      if (const std::string read = reading_words(comparison, section.groups, metric); !read.empty())
        text += fmt::format("\n{}: {}\n", metric, markdown_cell(read));
    if (const std::string targets = targets_of(comparison, section.groups);
        !targets.empty() && std::ranges::any_of(comparison.metrics, is_to_target))
      text += fmt::format("\n\\*\\_to\\_target: the target is {}\n", markdown_cell(targets));
    text += "\n";
    if (const ReportTable table = differences_table(comparison, section); table.rows() > 0)
      text += fmt::format("Paired differences to {}:\n\n{}\n", markdown_cell(comparison.baseline),
                          markdown_table(table));
  }
  bool any = false;
  for (const ComparedPoint& point : comparison.points)
    if (const Headline head = headline(comparison, point); !head.result.empty()) {
      text += fmt::format("{}**{}** {}\n\n",
                          point.settings.empty() ? "" : markdown_cell(point_title(point)) + ": ",
                          head.result, head.rest);
      any = true;
    }
  const std::vector<std::string> sentences = verdict_sentences(comparison);
  for (const std::string& sentence : sentences) text += fmt::format("- {}\n", sentence);
  if (any || !sentences.empty()) text += "\n";
  for (const ComparedNote& note : comparison.notes)
    if (note.kind != NoteKind::resolution)  // below the tables
      text += fmt::format("- {}{}\n", note.text.starts_with('*') ? "\\" : "", note.text);
  return text;
}

std::string to_latex(const Comparison& comparison, const std::string& caption) {
  std::string text = latex_comment(
      "needs \\usepackage{booktabs}; mean ± half of the 95 % Student-t "
      "interval over n seeds");
  text += latex_comment(comparison.heading);
  for (const auto& lines : {chosen_lines(comparison), verdict_sentences(comparison)})
    for (const std::string& line : lines) text += latex_comment(line);
  const TableNotes notes = table_notes(comparison, comparison.metrics, true);
  const std::string all_notes = latex_notes(notes.general) + latex_notes(notes.of_settings);
  for (const ComparedSection& section : comparison.sections) {
    const std::string title = settings_title(section.settings);
    if (!title.empty()) text += latex_comment(title);
    std::string inside = latex_table(means_table(comparison, section));
    if (const ReportTable table = differences_table(comparison, section); table.rows() > 0)
      inside += latex_comment("differences to " + comparison.baseline + ", paired by seed") +
                latex_table(table);
    if (&section == &comparison.sections.back()) inside += all_notes;
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
