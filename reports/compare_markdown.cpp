// A comparison as Markdown.
#include <fmt/format.h>

#include <algorithm>

#include "reports/compare.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/point_readings.hpp"
#include "reports/primary.hpp"
#include "reports/readings.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

/// Cells of the settings that differ within a section.
std::string markdown_settings(const Comparison& comparison, const ComparedGroup& group) {
  std::string cells;
  const FlatSettings flat = flatten(group.settings);
  for (const std::string& key : comparison.columns)
    cells += fmt::format(" {} |", markdown_cell(value_text(value_at(flat, key))));
  return cells;
}

std::string markdown_difference_table(const Comparison& comparison,
                                      const ComparedSection& section) {
  std::string rows;
  const bool margins = !comparison.plan.margins.empty();
  for (const ComparedDifference* d : differences_in(comparison, section)) {
    const ComparedGroup& group = group_of(comparison, d->group);
    rows += fmt::format("| {} |{} {} | {} | {} | {} |{}\n", markdown_cell(group.label),
                        markdown_settings(comparison, group),
                        d->metric + markdown_cell(own_baseline_words(comparison, *d)),
                        d->value.difference.n, difference_cell(*d), format_p(d->p_holm),
                        margins ? fmt::format(" {} |", equivalence_cell(*d)) : "");
  }
  if (rows.empty()) return "";
  std::string head = "| algorithm |", rule = "|---|";
  for (const std::string& key : comparison.columns) {
    head += fmt::format(" {} |", markdown_cell(key));
    rule += "--:|";
  }
  return fmt::format(
      "Paired differences to {}:\n\n{} metric | n | difference | p (Holm) |{}\n"
      "{}---|--:|--:|--:|{}\n{}\n",
      markdown_cell(comparison.baseline), head, margins ? " equivalent |" : "", rule,
      margins ? "---|" : "", rows);
}

std::string markdown_verdict(const Comparison& comparison) {
  std::string text;
  for (const ComparedPoint& point : comparison.points)
    if (const Headline head = headline(comparison, point); !head.result.empty())
      text += fmt::format("{}**{}** {}\n\n",
                          point.settings.empty() ? "" : markdown_cell(point_title(point)) + ": ",
                          head.result, head.rest);
  for (const std::string& sentence : verdict_sentences(comparison))
    text += fmt::format("- {}\n", sentence);
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string to_markdown(const Comparison& comparison) {
  std::string text = markdown_cell(comparison.heading) + "\n\n";
  for (const Selection& selection : comparison.selections)
    for (const Selection::Choice& choice : selection.choices)
      text += fmt::format("- {}\n", markdown_cell(chosen_line(choice)));
  if (!comparison.selections.empty()) text += "\n";
  for (const ComparedSection& section : comparison.sections) {
    if (!section.settings.empty())
      text += fmt::format("### {}\n\n", markdown_cell(settings_title(section.settings)));
    text += "| algorithm |";
    std::string rule = "|---|";
    for (const std::string& key : comparison.columns) {
      text += fmt::format(" {} |", markdown_cell(key));
      rule += "--:|";
    }
    text += " n |";
    rule += "--:|";
    for (const std::string& metric : comparison.metrics) {
      text += fmt::format(" {} |", metric);
      rule += "--:|";
    }
    text += "\n" + rule + "\n";
    for (const std::size_t g : section.groups) {
      const ComparedGroup& group = comparison.groups[g];
      text += fmt::format("| {} |{} {} |", markdown_cell(group.label),
                          markdown_settings(comparison, group), count_cell(group));
      for (const std::string& metric : comparison.metrics)
        text += fmt::format(" {} |", estimate_cell(group, metric));
      text += "\n";
    }
    for (const std::string& metric : comparison.metrics)
      if (const std::string read = reading_words(comparison, section.groups, metric); !read.empty())
        text += fmt::format("\n{}: {}\n", metric, markdown_cell(read));
    if (const std::string targets = targets_of(comparison, section.groups);
        !targets.empty() && std::ranges::any_of(comparison.metrics, is_to_target))
      text += fmt::format("\n\\*\\_to\\_target: the target is {}\n", markdown_cell(targets));
    text += "\n" + markdown_difference_table(comparison, section);
  }
  text += markdown_verdict(comparison);
  for (const ComparedNote& note : comparison.notes)
    if (note.kind != NoteKind::resolution)  // below the tables
      text += fmt::format("- {}{}\n", note.text.starts_with('*') ? "\\" : "", note.text);
  return text;
}

}  // namespace acid
