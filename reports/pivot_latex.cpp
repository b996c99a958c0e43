// A sweep as one table for a paper.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/base/names.hpp"
#include "reports/known_metrics.hpp"
#include "reports/latex.hpp"
#include "reports/pivot.hpp"
#include "reports/settings.hpp"
#include "reports/targets.hpp"

namespace acid {
namespace {

bool is_share(std::string_view metric) {
  return metric.ends_with("accuracy") || metric.find("_accuracy_") != std::string_view::npos;
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

/// "at 160 seconds, …" after --at, else how many gradients the runs have done if these are alike,
/// else their budgets, which runs with a target need not have reached.
std::string place_text(const Comparison& comparison) {
  if (const std::string at = describe(comparison.at); !at.empty()) return "read " + at;
  constexpr std::int64_t kAlike = 50;  // numbers that differ by a 50th at most are alike
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs) {
      least = std::min(least, run.progress.gradients);
      most = std::max(most, run.progress.gradients);
    }
  const bool alike = most - least <= most / kAlike;
  const bool aims = std::ranges::any_of(
      comparison.groups, [](const ComparedGroup& group) { return group.target.has_value(); });
  if (most > 0 && !alike && aims) return "at the end of each run";
  if (most > 0 && alike)
    return least == most ? fmt::format("after {} gradients", most)
                         : fmt::format("after {} to {} gradients", least, most);
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

/// Explains the numbers and the tests: the caption, unless the person gave another.
std::string explained(const Pivot& pivot, const Comparison& comparison) {
  const bool any = std::ranges::find(pivot.best, true) != pivot.best.end();
  const bool intervals = std::ranges::any_of(comparison.groups, [&](const ComparedGroup& group) {
    return group.estimate_of(pivot.metric).ci_high.has_value();
  });
  std::string heading = comparison.heading;
  for (std::size_t dot = heading.find(" · "); dot != std::string::npos; dot = heading.find(" · "))
    heading.replace(dot, std::string_view(" · ").size(), ", ");
  std::string text = fmt::format(
      "{}, {}, over {}{} ({}).", title_in_print(pivot, comparison), place_text(comparison),
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

}  // namespace

std::string title_in_print(const Pivot& pivot, const Comparison& comparison) {
  return with_target(readable_name(pivot.metric), targets_of(comparison)) +
         (is_share(pivot.metric) ? " (%)" : "");
}

std::string to_latex(const Pivot& pivot, const Comparison& comparison, const std::string& caption) {
  const double scale = is_share(pivot.metric) ? 100 : 1;
  const std::string words = explained(pivot, comparison);
  std::string inside = latex_table(table_of(pivot, comparison, {.scale = scale}, true));
  // A person's own caption need not explain the numbers: the explanation is below them.
  if (!caption.empty()) inside += latex_paragraph(words);
  inside += latex_notes(table_notes(comparison, {pivot.metric}, false).of_settings);
  const std::string name =
      comparison.heading.substr(0, comparison.heading.find(' ')) + "-" + pivot.metric;
  return latex_comment("needs \\usepackage{booktabs}") +
         latex_float(caption.empty() ? words : caption, latex_label(name), inside);
}

}  // namespace acid
