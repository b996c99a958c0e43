// A comparison as text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "reports/compare_formats.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/readings.hpp"
#include "reports/settings.hpp"
#include "reports/tags.hpp"
#include "reports/targets.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

/// Totals share one table; every other metric has a block of its own.
constexpr std::array<std::string_view, 4> kTotals{"gradients", "seconds", "bytes",
                                                  "gradients_per_second"};

bool is_total(std::string_view metric) {
  return std::find(kTotals.begin(), kTotals.end(), metric) != kTotals.end();
}

/// The unit and the better direction of the metric's numbers.
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

using Groups = std::vector<const ComparedGroup*>;

/// A column with a text for each group.
template <class TextOf>
ReportColumn column_of(const Groups& groups, std::string title, TextOf text_of) {
  ReportColumn column{{{}, {std::move(title)}}, TextTable::Align::right, {}};
  for (const ComparedGroup* group : groups) column.cells.push_back({text_of(*group)});
  return column;
}

bool says_nothing(const ReportColumn& column) {
  return std::ranges::all_of(
      column.cells, [](const ReportCell& cell) { return cell.text.empty() || cell.text == "–"; });
}

/// Labels and settings, "optimizer." above "learning_rate".
std::vector<ReportColumn> keys_of(const Comparison& comparison, const Groups& groups) {
  std::vector<ReportColumn> columns = key_columns(comparison, groups);
  columns.front().heads = {{}, {}};
  for (std::size_t k = 0; k < comparison.columns.size(); ++k)
    columns[1 + k].heads = {{table_of_key(comparison.columns[k])},
                            {last_word(comparison.columns[k])}};
  return columns;
}

/// For a target, how many of all runs reached it; for other metrics, the runs of the mean.
ReportColumn count_column(const Groups& groups, const std::string& metric) {
  const bool target = is_to_target(metric);
  return column_of(groups, target ? "reached" : "n", [&](const ComparedGroup& group) {
    return target ? reached_cell(group, metric) : std::to_string(group.estimate_of(metric).n);
  });
}

/// Absent if no run diverged.
void add_diverged(std::vector<ReportColumn>& columns, const Groups& groups) {
  if (std::ranges::any_of(groups, [](const auto* group) { return !group->diverged.empty(); }))
    columns.push_back(column_of(groups, "diverged", [](const ComparedGroup& group) {
      return fmt::format("{} of {}", group.diverged.size(), group.outcomes());
    }));
}

/// Absent if no group has enough runs for it.
void add_iqm(std::vector<ReportColumn>& columns, const Groups& groups, const std::string& metric) {
  ReportColumn column = column_of(groups, "IQM", [&](const ComparedGroup& group) {
    const std::optional<double> iqm = group.robust_of(metric).iqm;
    return !iqm ? std::string("–") : std::isinf(*iqm) ? "worst" : format_metric_value(metric, *iqm);
  });
  if (!says_nothing(column)) columns.push_back(std::move(column));
}

/// Returns whether there are any.
bool add_ratios(std::vector<ReportColumn>& columns, const Comparison& comparison,
                const Groups& groups, const std::string& metric, const TextLines& lines) {
  std::set<std::string> references, titles;
  for (const ComparedRatio& ratio : comparison.ratios)
    if (ratio.metric == metric) references.insert(ratio.reference);
  ReportColumn column = column_of(groups, "", [&](const ComparedGroup& group) {
    const ComparedRatio* const ratio = find_ratio(comparison, group.group, metric);
    if (ratio == nullptr) return std::string(references.contains(group.group) ? "1" : "–");
    const std::string& reference = group_of(comparison, ratio->reference).label;
    titles.insert("/ " + (lines.cut ? shortened(reference, lines.columns / 5) : reference));
    return format_ratio(ratio->value);
  });
  if (titles.empty()) return false;
  column.heads.back().text = titles.size() == 1 ? *titles.begin() : "ratio";
  columns.push_back(std::move(column));
  return true;
}

/// The difference, its p (Holm) and, if it has an interval, the chance to be better.
void add_differences(std::vector<ReportColumn>& columns, const Comparison& comparison,
                     const Groups& groups, const std::string& metric) {
  const auto column = [&](const char* title, auto text_of, const char* of_baseline = "") {
    return column_of(groups, title, [&](const ComparedGroup& group) -> std::string {
      const auto g = static_cast<std::size_t>(&group - comparison.groups.data());
      if (const auto* one = find_difference(comparison, group.group, metric)) return text_of(*one);
      return is_baseline(comparison, g, metric) ? of_baseline : "";
    });
  };
  const auto add_if_any = [&](ReportColumn one) {
    if (!says_nothing(one)) columns.push_back(std::move(one));
  };
  ReportColumn differences = column("difference", difference_cell, "baseline");
  if (std::ranges::all_of(differences.cells, [](const auto& cell) { return cell.text.empty(); }))
    return;
  columns.push_back(std::move(differences));
  columns.push_back(column("p (Holm)", [](const auto& one) { return format_p(one.p_holm); }));
  add_if_any(column("equivalent", [](const ComparedDifference& one) -> std::string {
    if (!one.equivalence) return "";
    return is_equivalent(one) ? "within " + one.equivalence->margin.words() : "not shown";
  }));
  add_if_any(column("P(better)", [](const ComparedDifference& one) -> std::string {
    const auto& chance = one.improvement;
    return chance && chance->low ? format_number(chance->value, 2) : "";
  }));
}

/// The settings as columns, if a line is long enough; else as headings, a table under each.
std::string settled_table(const Comparison& comparison, const Groups& groups,
                          const std::vector<ReportColumn>& columns, const TextLines& lines) {
  const std::vector<ReportColumn> keys = keys_of(comparison, groups);
  ReportTable wide{keys}, narrow{{keys.front()}};
  for (ReportTable* table : {&wide, &narrow})
    table->columns.insert(table->columns.end(), columns.begin(), columns.end());
  const TextTable table = text_table(wide, lines);
  if (keys.size() == 1 || table.fits()) return table.str();

  std::string text;
  for (std::size_t row = 0, next = 0; row < groups.size(); row = next) {
    std::string heading;
    for (std::size_t k = 1; k < keys.size(); ++k)
      heading += fmt::format("{}{} = {}", k == 1 ? "" : ", ", comparison.columns[k - 1],
                             keys[k].cells[row].text);
    const auto as_this = [&](const ReportColumn& key) {
      return key.cells[next].text == key.cells[row].text;
    };
    next = row + 1;
    while (next < groups.size() && std::all_of(keys.begin() + 1, keys.end(), as_this)) ++next;
    text += "  " + wrapped(heading, lines.prose() - 2, "    ") + "\n" +
            text_table(narrow.part({row, next}, {0, columns.size()}), lines).str();
  }
  return text;
}

std::string metric_block(const Comparison& comparison, const Groups& groups,
                         const std::string& metric, const TextLines& lines) {
  std::vector<ReportColumn> columns{count_column(groups, metric)};
  add_diverged(columns, groups);
  columns.push_back(column_of(groups, "mean ± 95 %", [&](const ComparedGroup& group) {
    return format_metric(metric, group.estimate_of(metric));
  }));
  add_iqm(columns, groups, metric);
  if (!add_ratios(columns, comparison, groups, metric, lines))
    add_differences(columns, comparison, groups, metric);
  // Columns that a line cannot hold are in JSON and CSV.
  for (const char* spare : {"P(better)", "IQM"}) {
    ReportTable table{{keys_of(comparison, groups).front()}};
    table.columns.insert(table.columns.end(), columns.begin(), columns.end());
    if (!text_table(table, lines).fits())
      std::erase_if(columns, [&](const auto& one) { return one.heads.back().text == spare; });
  }
  return settled_table(comparison, groups, columns, lines);
}

std::string totals_block(const Comparison& comparison, const Groups& groups,
                         const std::vector<std::string>& totals, const TextLines& lines) {
  std::vector<ReportColumn> columns;
  add_diverged(columns, groups);
  for (const std::string& metric : totals)
    columns.push_back(column_of(groups, metric == "gradients_per_second" ? "gradients/s" : metric,
                                [&](const ComparedGroup& group) {
                                  const Estimate e = group.estimate_of(metric);
                                  return e.n == 0 ? "–" : format_metric_value(metric, e.mean);
                                }));
  return settled_table(comparison, groups, columns, lines);
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
  const Estimate e = group.estimate_of(metric);
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
  return difference.is_of_survivors() ? text + std::string(kSurvivors) : text;
}

std::string to_text(const Comparison& comparison, bool colour, const TextLines& lines) {
  const Ink ink{colour};
  std::string text = ink.bold(wrapped(comparison.heading, lines.prose(), "  ")) + "\n" +
                     tag_text(comparison.tagged, lines);
  for (const Selection& selection : comparison.selections)
    text += "\n" + ink.bold("chosen") + ink.dim("  by " + selection.metric) + "\n" +
            selection_table(selection, lines);
  std::vector<std::string> totals;
  for (const std::string& metric : comparison.metrics)
    if (is_total(metric)) totals.push_back(metric);
  for (const ComparedSection& section : comparison.sections) {
    const Groups groups = groups_of(comparison, section);
    text += "\n";
    if (!section.settings.empty())
      text += ink.bold(wrapped(settings_title(section.settings), lines.prose())) + "\n\n";
    for (const std::string& metric : comparison.metrics) {
      if (is_total(metric)) continue;
      text += ink.bold(metric);
      if (const std::string words = about(comparison, section, metric); !words.empty())
        text += "  " +
                ink.dim(wrapped(words, lines.prose() - static_cast<int>(metric.size()) - 2, "  "));
      text += "\n" + metric_block(comparison, groups, metric, lines);
      if (const std::string read = reading_words(comparison, section.groups, metric); !read.empty())
        text += ink.dim("  " + wrapped(read, lines.prose() - 2, "  ")) + "\n";
      text += "\n";
    }
    if (!totals.empty())
      text += ink.bold("totals") + ink.dim("  means") + "\n" +
              totals_block(comparison, groups, totals, lines);
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
