// A sweep as one table for a paper.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/names.hpp"
#include "reports/known_metrics.hpp"
#include "reports/latex.hpp"
#include "reports/numbers.hpp"
#include "reports/pivot.hpp"
#include "reports/point_readings.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

bool is_share(std::string_view metric) {
  return metric.ends_with("accuracy") || metric.find("_accuracy_") != std::string_view::npos;
}

/// "Test accuracy (%)", "Seconds to eval_loss = 0.5".
std::string metric_title(const Pivot& pivot, const Comparison& comparison) {
  return with_target(readable_name(pivot.metric), targets_of(comparison)) +
         (is_share(pivot.metric) ? " (%)" : "");
}

/// "1 seed", "3 seeds", "2 to 5 seeds".
std::string seeds_of(const Comparison& comparison) {
  std::size_t least = SIZE_MAX, most = 0;
  for (const ComparedGroup& group : comparison.groups) {
    least = std::min(least, group.outcomes());
    most = std::max(most, group.outcomes());
  }
  return least == most ? counted(most, "seed")
                       : fmt::format("{} to {}", least, counted(most, "seed"));
}

/// "at 160 seconds, …" where --at says so, else the budgets that runs had.
std::string place_text(const Comparison& comparison) {
  if (const std::string at = describe(comparison.at); !at.empty()) return "read " + at;
  std::set<std::string> budgets;
  for (const ComparedGroup& group : comparison.groups) {
    std::vector<std::string> parts;
    const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json& settings = group.settings.is_object() ? group.settings : none;
    const nlohmann::json budget = settings.value("budget", none);
    for (const auto& [key, unit] :
         {std::pair("gradients", "gradients"), std::pair("normalised_time", "gradients per worker"),
          std::pair("seconds", "seconds"), std::pair("bytes", "bytes")})
      if (budget.contains(key) && budget.at(key).is_number())
        parts.push_back(fmt::format("{} {}", value_text(budget.at(key)), unit));
    if (!parts.empty()) budgets.insert(fmt::format("{}", fmt::join(parts, " or ")));
  }
  constexpr std::size_t kMostBudgets = 3;
  if (budgets.empty() || budgets.size() > kMostBudgets) return "at the end of each run";
  return fmt::format("after {}", fmt::join(budgets, ", "));
}

/// What the numbers are and what was tested: the caption, unless somebody has another.
std::string explained(const Pivot& pivot, const Comparison& comparison) {
  const bool any = std::ranges::find(pivot.best, true) != pivot.best.end();
  const bool intervals = std::ranges::any_of(comparison.groups, [&](const ComparedGroup& group) {
    const auto found = group.metrics.find(pivot.metric);
    return found != group.metrics.end() && found->second.ci_high;
  });
  std::string heading = comparison.heading;
  for (std::size_t dot = heading.find(" · "); dot != std::string::npos; dot = heading.find(" · "))
    heading.replace(dot, std::string_view(" · ").size(), ", ");
  std::string text = fmt::format(
      "{}, {}, over {}{} ({}).", metric_title(pivot, comparison), place_text(comparison),
      seeds_of(comparison),
      intervals ? ": mean ± half of the 95 % Student-t interval" : ", without an interval",
      heading);
  const std::string test = fmt::format(
      "exact paired tests by seed of all pairs of algorithms at a setting, p ≤ {} "
      "after Holm's correction over {}; a verdict of differences to the baseline "
      "alone tests fewer",
      ComparedDifference::kSignificance, counted(pivot.tests, "pair"));
  if (pivot.tests > 0)
    text += any ? fmt::format(" Bold: better than all others of its setting ({}).", test)
                : fmt::format(
                      " None is bold: none was shown to be better than all others of its "
                      "setting ({}).",
                      test);
  std::string margin = equivalence_legend(pivot, comparison, is_share(pivot.metric));
  if (margin.starts_with('n')) margin.front() = 'N';  // a sentence of its own
  std::string caption = latex_text(text);
  if (!margin.empty())
    caption += fmt::format(
        " {}{}.",
        std::ranges::find(pivot.equivalent, true) != pivot.equivalent.end() ? "$\\approx$: " : "",
        latex_text(margin));
  for (const std::string& note : table_notes(comparison, {pivot.metric}, false).general)
    caption += latex_text(fmt::format(" Note: {}.", note));
  return caption;
}

/// A column's word for one of its axes: "ring", "Workers 8".
std::string column_word(const PivotAxis& axis, const std::string& text) {
  const bool number = text.find_first_not_of("0123456789.e+-") == std::string::npos;
  return latex_text(number ? readable_name(axis.title) + " " + text : text);
}

std::string head_word(const Pivot& pivot, const Comparison& comparison, std::size_t column,
                      std::size_t level) {
  return pivot.column_axes.empty()
             ? latex_text(metric_title(pivot, comparison))
             : column_word(pivot.column_axes[level], pivot.columns[column][level]);
}

std::size_t levels_of(const Pivot& pivot) {
  return std::max<std::size_t>(1, pivot.column_axes.size());
}

std::string cell(const Pivot& pivot, const Comparison& comparison, std::size_t row,
                 std::size_t column) {
  const auto& group = pivot.cells[row][column];
  if (!group) return "--";
  const double scale = is_share(pivot.metric) ? 100 : 1;
  const std::string number =
      latex_number(pivot_cell(comparison.groups[*group], pivot.metric, true, scale));
  return (pivot.best[*group] ? fmt::format("\\textbf{{{}}}", number) : number) +
         (pivot.equivalent[*group] ? " $\\approx$" : "");
}

std::string body(const Pivot& pivot, const Comparison& comparison,
                 std::array<std::size_t, 2> part) {
  std::string text;
  for (std::size_t r = 0; r < pivot.rows.size(); ++r) {
    std::vector<std::string> cells;
    bool same = r > 0;
    for (std::size_t a = 0; a < pivot.row_axes.size(); ++a) {
      same = same && pivot.rows[r][a] == pivot.rows[r - 1][a];
      cells.push_back(same ? "" : latex_text(pivot.rows[r][a]));
      if (a == 0 && r > 0 && !same && pivot.row_axes.size() > 1) text += "\\addlinespace\n";
    }
    for (std::size_t c = part[0]; c < part[1]; ++c) cells.push_back(cell(pivot, comparison, r, c));
    text += fmt::format("{} \\\\\n", fmt::join(cells, " & "));
  }
  return text;
}

/// The heads right above the columns, of row axes and of the others, and how these fit a page.
struct Heads {
  std::vector<std::string> keys, columns;
  LatexFit fit;
};

Heads heads_of(const Pivot& pivot, const Comparison& comparison) {
  Heads heads;
  std::vector<double> keys, columns;  // of what stands below the heads
  for (std::size_t a = 0; a < pivot.row_axes.size(); ++a) {
    heads.keys.push_back(latex_text(readable_name(pivot.row_axes[a].title)));
    keys.push_back(0);
    for (const auto& row : pivot.rows) keys[a] = std::max(keys[a], latex_width(latex_text(row[a])));
  }
  for (std::size_t c = 0; c < pivot.columns.size(); ++c) {
    heads.columns.push_back(head_word(pivot, comparison, c, levels_of(pivot) - 1));
    columns.push_back(0);
    for (std::size_t r = 0; r < pivot.rows.size(); ++r)
      columns[c] = std::max(columns[c], latex_width(cell(pivot, comparison, r, c)));
  }
  const auto fit = [&] {
    std::vector<double> of_keys, of_columns;
    for (std::size_t a = 0; a < keys.size(); ++a)
      of_keys.push_back(std::max(keys[a], latex_width(heads.keys[a])));
    for (std::size_t c = 0; c < columns.size(); ++c)
      of_columns.push_back(std::max(columns[c], latex_width(heads.columns[c])));
    heads.fit = latex_fit(of_keys, of_columns);
  };
  fit();
  if (!heads.fit.small) return heads;
  for (std::size_t a = 0; a < keys.size(); ++a) heads.keys[a] = latex_head(heads.keys[a], keys[a]);
  for (std::size_t c = 0; c < columns.size(); ++c)
    heads.columns[c] = latex_head(heads.columns[c], columns[c]);
  fit();
  return heads;
}

/// One line of heads for each column axis; equal neighbours share one above those of the last.
std::string head(const Pivot& pivot, const Comparison& comparison, const Heads& heads,
                 std::array<std::size_t, 2> part) {
  std::string text;
  const std::size_t levels = levels_of(pivot);
  for (std::size_t level = 0; level < levels; ++level) {
    const bool last = level + 1 == levels;
    std::vector<std::string> cells;
    std::string rules;
    for (const std::string& key : heads.keys) cells.push_back(last ? key : "");
    for (std::size_t c = part[0], next = 0; c < part[1]; c = next) {
      const auto upper = [&](std::size_t column) {
        return std::vector<std::string>(
            pivot.columns[column].begin(),
            pivot.columns[column].begin() + static_cast<std::ptrdiff_t>(level) + 1);
      };
      next = c + 1;
      while (!last && next < part[1] && upper(next) == upper(c)) ++next;
      const std::string word = last ? heads.columns[c] : head_word(pivot, comparison, c, level);
      const std::size_t place = pivot.row_axes.size() + c - part[0] + 1;
      cells.push_back(last ? word : fmt::format("\\multicolumn{{{}}}{{c}}{{{}}}", next - c, word));
      if (!last) rules += fmt::format("\\cmidrule(lr){{{}-{}}}", place, place + next - c - 1);
    }
    text += fmt::format("{} \\\\\n{}{}", fmt::join(cells, " & "), rules, rules.empty() ? "" : "\n");
  }
  return text;
}

}  // namespace

std::string to_latex(const Pivot& pivot, const Comparison& comparison, const std::string& caption) {
  const Heads heads = heads_of(pivot, comparison);
  const auto tabular_of = [&](std::array<std::size_t, 2> part) {
    const std::string columns =
        std::string(pivot.row_axes.size(), 'l') + std::string(part[1] - part[0], 'r');
    return fmt::format(
        "\\begin{{tabular}}{{{}}}\n\\toprule\n{}\\midrule\n{}\\bottomrule\n\\end{{tabular}}\n",
        columns, head(pivot, comparison, heads, part), body(pivot, comparison, part));
  };
  const std::string words = explained(pivot, comparison);
  std::string inside = latex_tabulars(heads.fit, tabular_of);
  // A person's own caption need not say what the numbers are: that stands below them.
  if (!caption.empty()) inside += latex_paragraph(words);
  inside += latex_notes(table_notes(comparison, {pivot.metric}, false).of_settings);
  const std::string name =
      comparison.heading.substr(0, comparison.heading.find(' ')) + "-" + pivot.metric;
  return latex_comment("needs \\usepackage{booktabs}") +
         latex_float(caption.empty() ? words : caption, latex_label(name), inside);
}

}  // namespace acid
