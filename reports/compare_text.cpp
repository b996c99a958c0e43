// A comparison as text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "reports/compare.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/point_readings.hpp"
#include "reports/readings.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

using Align = TextTable::Align;

/// Totals share one table; every other metric has a block of its own.
constexpr std::array<std::string_view, 4> kTotals{"gradients", "seconds", "bytes",
                                                  "gradients_per_second"};

bool is_total(std::string_view metric) {
  return std::find(kTotals.begin(), kTotals.end(), metric) != kTotals.end();
}

/// What its numbers are of, and which way is better.
std::string about(const Comparison& comparison, const ComparedSection& section,
                  const std::string& name) {
  const int better = better_direction(name);
  const std::string words = better > 0 ? "higher is better" : better < 0 ? "lower is better" : "";
  const auto is_of_shortest = [&](const ComparedPoint& point) {
    return point.mid && point.mid->of_shortest &&
           std::ranges::find_first_of(point.groups, section.groups) != point.groups.end();
  };
  if (name == kMidConsensus)
    return fmt::format(
        "mean over 20-50 % of the {}; {}",
        std::ranges::any_of(comparison.points, is_of_shortest) ? "shortest run" : "budget", words);
  if (const std::string targets = targets_of(comparison, section.groups);
      is_to_target(name) && !targets.empty())
    return fmt::format("to {}; {}", targets, words);
  return words;
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

/// A column of a table of groups: its title, which may be two lines, and each group's cell.
struct Column {
  std::string over, title;
  Align align = Align::right;
  std::vector<std::string> cells;  // parallel to ComparedSection::groups
};

Column label_column(const Comparison& comparison, const ComparedSection& section) {
  Column column{"", "", Align::left, {}};
  for (const std::size_t g : section.groups) column.cells.push_back(comparison.groups[g].label);
  return column;
}

/// The swept settings that differ in the section, "optimizer." above "learning_rate".
std::vector<Column> setting_columns(const Comparison& comparison, const ComparedSection& section) {
  std::vector<Column> columns;
  for (const std::string& key : comparison.columns) {
    const std::size_t dot = key.rfind('.');
    Column column{dot == std::string::npos ? "" : key.substr(0, dot),
                  dot == std::string::npos ? key : key.substr(dot + 1),
                  Align::right,
                  {}};
    for (const std::size_t g : section.groups)
      column.cells.push_back(value_text(value_at(flatten(comparison.groups[g].settings), key)));
    columns.push_back(std::move(column));
  }
  return columns;
}

/// How many runs reached a target, of all; of others over how many the mean is.
Column count_column(const Comparison& comparison, const ComparedSection& section,
                    const std::string& metric) {
  const bool target = is_to_target(metric);
  Column column{"", target ? "reached" : "n", Align::right, {}};
  for (const std::size_t g : section.groups) {
    const ComparedGroup& group = comparison.groups[g];
    const auto found = group.metrics.find(metric);
    const int n = found == group.metrics.end() ? 0 : found->second.n;
    column.cells.push_back(target ? reached_cell(group, metric) : std::to_string(n));
  }
  return column;
}

/// Absent where no run diverged.
std::vector<Column> diverged_column(const Comparison& comparison, const ComparedSection& section) {
  Column column{"", "diverged", Align::right, {}};
  bool any = false;
  for (const std::size_t g : section.groups) {
    const ComparedGroup& group = comparison.groups[g];
    any = any || !group.diverged.empty();
    column.cells.push_back(fmt::format("{} of {}", group.diverged.size(), group.outcomes()));
  }
  if (!any) return {};
  return {std::move(column)};
}

Column mean_column(const Comparison& comparison, const ComparedSection& section,
                   const std::string& metric) {
  Column column{"", "mean ± 95 %", Align::right, {}};
  for (const std::size_t g : section.groups) {
    const auto found = comparison.groups[g].metrics.find(metric);
    column.cells.push_back(format_metric(
        metric, found == comparison.groups[g].metrics.end() ? Estimate{} : found->second));
  }
  return column;
}

/// Absent where no group has enough runs for it.
std::vector<Column> iqm_column(const Comparison& comparison, const ComparedSection& section,
                               const std::string& metric) {
  Column column{"", "IQM", Align::right, {}};
  bool any = false;
  for (const std::size_t g : section.groups) {
    const auto found = comparison.groups[g].robust.find(metric);
    const bool has = found != comparison.groups[g].robust.end() && found->second.iqm;
    column.cells.push_back(!has ? "–"
                           : std::isinf(*found->second.iqm)
                               ? "worst"
                               : format_metric_value(metric, *found->second.iqm));
    any = any || has;
  }
  if (!any) return {};
  return {std::move(column)};
}

std::vector<Column> ratio_columns(const Comparison& comparison, const ComparedSection& section,
                                  const std::string& metric, const TextLines& lines) {
  Column column{"", "", Align::right, {}};
  std::vector<std::string> references;
  for (const ComparedRatio& ratio : comparison.ratios)
    if (ratio.metric == metric) references.push_back(ratio.reference);
  for (const std::size_t g : section.groups) {
    const ComparedGroup& group = comparison.groups[g];
    const ComparedRatio* const ratio = find_ratio(comparison, group.group, metric);
    const bool is_reference =
        std::find(references.begin(), references.end(), group.group) != references.end();
    column.cells.push_back(ratio ? format_ratio(ratio->value) : is_reference ? "1" : "–");
    if (ratio == nullptr) continue;
    const std::string& reference = group_of(comparison, ratio->reference).label;
    const std::string title =
        "/ " + (lines.cut ? shortened(reference, lines.columns / 5) : reference);
    column.title = column.title.empty() || column.title == title ? title : "ratio";
  }
  if (column.title.empty()) return {};
  return {std::move(column)};
}

/// The difference, its p (Holm) and, once there is an interval to it, the chance to be better.
std::vector<Column> difference_columns(const Comparison& comparison, const ComparedSection& section,
                                       const std::string& metric) {
  Column difference{"", "difference", Align::right, {}}, p{"", "p (Holm)", Align::right, {}};
  Column chance{"", "P(better)", Align::right, {}}, equivalent{"", "equivalent", Align::right, {}};
  bool any = false, any_chance = false, any_margin = false;
  for (const std::size_t g : section.groups) {
    const auto* found = find_difference(comparison, comparison.groups[g].group, metric);
    const bool baseline = is_baseline(comparison, g, metric);
    difference.cells.push_back(found ? difference_cell(*found) : (baseline ? "baseline" : ""));
    p.cells.push_back(found ? format_p(found->p_holm) : "");
    const bool has = found != nullptr && found->improvement && found->improvement->low;
    chance.cells.push_back(has ? format_number(found->improvement->value, 2) : "");
    const bool margin = found != nullptr && found->equivalence.has_value();
    equivalent.cells.push_back(!margin ? ""
                               : is_equivalent(*found)
                                   ? "within " + found->equivalence->margin.words()
                                   : "not shown");
    any = any || found != nullptr || baseline;
    any_margin = any_margin || margin;
    any_chance = any_chance || has;
  }
  std::vector<Column> columns;
  if (!any) return columns;
  columns.push_back(std::move(difference));
  columns.push_back(std::move(p));
  if (any_margin) columns.push_back(std::move(equivalent));
  if (any_chance) columns.push_back(std::move(chance));
  return columns;
}

TextTable table_of(const std::vector<Column>& columns, const TextLines& lines) {
  TextTable table;
  table.indent = "  ";
  table.lines = lines;
  std::vector<std::string> over, titles;
  for (const Column& column : columns) {
    table.alignment.push_back(column.align);
    over.push_back(column.over);
    titles.push_back(column.title);
  }
  if (std::any_of(over.begin(), over.end(), [](const std::string& s) { return !s.empty(); }))
    table.rows.push_back(std::move(over));
  table.rows.push_back(std::move(titles));
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    std::vector<std::string> cells;
    for (const Column& column : columns) cells.push_back(column.cells[row]);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// The settings as columns, where a line can hold them; else as headings, a table under each.
std::string settled_table(const Comparison& comparison, const ComparedSection& section,
                          const std::vector<Column>& columns, const TextLines& lines) {
  const std::vector<Column> settings = setting_columns(comparison, section);
  std::vector<Column> wide{columns.front()};
  wide.insert(wide.end(), settings.begin(), settings.end());
  wide.insert(wide.end(), columns.begin() + 1, columns.end());
  const TextTable table = table_of(wide, lines);
  if (settings.empty() || table.fits()) return table.str();

  std::string text;
  for (std::size_t row = 0, next = 0; row < section.groups.size(); row = next) {
    std::string heading;
    for (std::size_t s = 0; s < settings.size(); ++s)
      heading += fmt::format("{}{} = {}", s == 0 ? "" : ", ", comparison.columns[s],
                             settings[s].cells[row]);
    const auto as_this = [&](const Column& column) {
      return column.cells[next] == column.cells[row];
    };
    next = row + 1;
    while (next < section.groups.size() && std::all_of(settings.begin(), settings.end(), as_this))
      ++next;
    std::vector<Column> part = columns;
    for (Column& column : part)
      column.cells.assign(column.cells.begin() + static_cast<std::ptrdiff_t>(row),
                          column.cells.begin() + static_cast<std::ptrdiff_t>(next));
    text += "  " + wrapped(heading, lines.prose() - 2, "    ") + "\n" + table_of(part, lines).str();
  }
  return text;
}

std::string metric_block(const Comparison& comparison, const ComparedSection& section,
                         const std::string& metric, const TextLines& lines) {
  std::vector<Column> columns{label_column(comparison, section),
                              count_column(comparison, section, metric)};
  const std::vector<Column> diverged = diverged_column(comparison, section);
  columns.insert(columns.end(), diverged.begin(), diverged.end());
  columns.push_back(mean_column(comparison, section, metric));
  std::vector<Column> more = ratio_columns(comparison, section, metric, lines);
  if (more.empty()) more = difference_columns(comparison, section, metric);
  std::vector<Column> iqm = iqm_column(comparison, section, metric);
  columns.insert(columns.end(), iqm.begin(), iqm.end());
  columns.insert(columns.end(), more.begin(), more.end());
  // What a line cannot hold is in JSON and CSV.
  for (const char* spare : {"P(better)", "IQM"})
    if (!table_of(columns, lines).fits())
      std::erase_if(columns, [&](const Column& column) { return column.title == spare; });
  return settled_table(comparison, section, columns, lines);
}

std::string totals_block(const Comparison& comparison, const ComparedSection& section,
                         const std::vector<std::string>& totals, const TextLines& lines) {
  std::vector<Column> columns{label_column(comparison, section)};
  const std::vector<Column> diverged = diverged_column(comparison, section);
  columns.insert(columns.end(), diverged.begin(), diverged.end());
  for (const std::string& metric : totals) {
    Column column{"", metric == "gradients_per_second" ? "gradients/s" : metric, Align::right, {}};
    for (const std::size_t g : section.groups) {
      const auto found = comparison.groups[g].metrics.find(metric);
      column.cells.push_back(found == comparison.groups[g].metrics.end()
                                 ? "–"
                                 : format_metric_value(metric, found->second.mean));
    }
    columns.push_back(std::move(column));
  }
  return settled_table(comparison, section, columns, lines);
}

}  // namespace

std::string format_metric_value(const std::string& metric, double value) {
  if (!has_unit(metric)) return format_number(value);
  return known_metric(metric)->unit == "s" ? format_seconds(value) : format_bytes(value);
}

std::string format_metric(const std::string& metric, const Estimate& estimate) {
  if (estimate.n == 0 || !has_unit(metric)) return format_estimate(estimate);
  const std::string mean = format_metric_value(metric, estimate.mean);
  if (!estimate.ci_high) return mean + " ± n/a";
  return fmt::format("{} ± {}", mean,
                     format_metric_value(metric, *estimate.ci_high - estimate.mean));
}

std::string estimate_cell(const ComparedGroup& group, const std::string& metric) {
  const auto found = group.metrics.find(metric);
  const Estimate e = found == group.metrics.end() ? Estimate{} : found->second;
  const std::string text = format_metric(metric, e);
  if (is_to_target(metric) && !group.target) return "–";
  if (is_to_target(metric))
    return e.n == 0 ? "reached by " + reached_cell(group, metric)
                    : fmt::format("{} ({})", text, reached_cell(group, metric));
  if (group.diverged.empty()) return text;
  return fmt::format("{} ({} of {})", text, e.n, group.outcomes());
}

std::string reached_cell(const ComparedGroup& group, const std::string& metric) {
  if (!group.target) return "–";
  const auto all = static_cast<int>(group.outcomes());
  return fmt::format("{} of {}", all - censored(group, metric), all);
}

std::string count_cell(const ComparedGroup& group) {
  if (group.diverged.empty()) return std::to_string(group.runs.size());
  return fmt::format("{} ({} of {} diverged)", group.runs.size(), group.diverged.size(),
                     group.outcomes());
}

std::string difference_cell(const ComparedDifference& difference) {
  const std::string text = format_metric(difference.metric, difference.simultaneous);
  const bool all = difference.diverged + difference.baseline_diverged == 0;
  return all || difference.simultaneous.n == 0 ? text : text + std::string(kSurvivors);
}

std::string to_text(const Comparison& comparison, bool colour, const TextLines& lines) {
  const Ink ink{colour};
  std::string text = ink.bold(wrapped(comparison.heading, lines.prose(), "  ")) + "\n";
  for (const Selection& selection : comparison.selections)
    text += "\n" + ink.bold("chosen") + ink.dim("  by " + selection.metric) + "\n" +
            selection_table(selection, lines);
  std::vector<std::string> totals;
  for (const std::string& metric : comparison.metrics)
    if (is_total(metric)) totals.push_back(metric);
  for (const ComparedSection& section : comparison.sections) {
    text += "\n";
    if (!section.settings.empty())
      text += ink.bold(wrapped(settings_title(section.settings), lines.prose())) + "\n\n";
    for (const std::string& metric : comparison.metrics) {
      if (is_total(metric)) continue;
      text += ink.bold(metric);
      if (const std::string words = about(comparison, section, metric); !words.empty())
        text += "  " +
                ink.dim(wrapped(words, lines.prose() - static_cast<int>(metric.size()) - 2, "  "));
      text += "\n" + metric_block(comparison, section, metric, lines);
      if (const std::string read = reading_words(comparison, section.groups, metric); !read.empty())
        text += ink.dim("  " + wrapped(read, lines.prose() - 2, "  ")) + "\n";
      text += "\n";
    }
    if (!totals.empty())
      text += ink.bold("totals") + ink.dim("  means") + "\n" +
              totals_block(comparison, section, totals, lines);
  }
  for (const ComparedPoint& point : comparison.points) {
    const Headline head = headline(comparison, point);
    const std::vector<std::string> sentences = verdict_sentences(comparison, point);
    if (head.result.empty() && sentences.empty()) continue;
    if (!text.empty() && !text.ends_with("\n\n")) text += "\n";
    const std::string at = point.settings.empty() ? "" : " at " + point_title(point);
    text += ink.bold(wrapped("verdict" + at, lines.prose())) + "\n";
    const auto add = [&](const std::string& words, const char* indent) {
      text += "  " + wrapped(words, lines.prose() - 2, indent) + "\n";
    };
    if (!head.result.empty())
      add(head.rest.empty() ? head.result : head.result + " " + head.rest, "  ");
    for (const std::string& sentence : sentences) add("- " + sentence, "    ");
  }
  for (const std::string& doubt : equal_doubts(comparison))
    text += "  " + wrapped("- " + doubt, lines.prose() - 2, "    ") + "\n";
  if (!comparison.notes.empty() && !text.empty() && !text.ends_with("\n\n")) text += "\n";
  for (const ComparedNote& note : comparison.notes)
    if (note.kind != NoteKind::resolution)  // beside the numbers
      text += ink.dim(wrapped("note: " + note.text, lines.prose(), "  ")) + "\n";
  return text;
}

}  // namespace acid
