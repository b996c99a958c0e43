#include <fmt/format.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/power.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

std::string list_of(const std::vector<std::string>& sentences) {
  std::string out = "<ul>\n";
  for (const std::string& sentence : sentences)
    out += fmt::format("<li>{}</li>\n", escaped(sentence));
  return out + "</ul>\n";
}

/// Words on consensus distances and on the places where all have run equally long, or sent as much;
/// the pictures show the ends.
std::string further_words(const Comparison& comparison, const ComparedPoint& point) {
  std::vector<std::string> sentences;
  for (const auto words : {consensus_sentences, margin_sentences, equal_sentences})
    for (std::string& sentence : words(comparison, point)) sentences.push_back(std::move(sentence));
  return sentences.empty() ? "" : list_of(sentences);
}

std::string headline_of(std::string_view result, std::string_view rest) {
  return fmt::format("<p class=\"headline\"><strong>{}</strong> {}</p>\n", escaped(result),
                     escaped(rest));
}

/// The largest number of seeds if it is too small for any test of the primary outcome; else 0.
int too_few_seeds(const Comparison& comparison) {
  int most = 0;
  for (const ComparedDifference& difference : comparison.differences) {
    if (difference.metric != comparison.primary) continue;
    const bool too_few =
        difference.value.pairs == 1 || judge(difference) == Judgement::too_few_seeds;
    if (!too_few) return 0;
    most = std::max(most, difference.value.pairs);
  }
  return most;
}

/// The tests' results; their numbers are in the pictures and the table. May be empty.
std::string verdict_in_words(const Comparison& comparison) {
  std::string out = too_few_words(comparison);
  const bool told = out.empty();
  for (const ComparedPoint& point : comparison.points) {
    const Headline head = told ? headline(comparison, point) : Headline();
    const std::string further = further_words(comparison, point);
    if (head.result.empty() && further.empty()) continue;
    if (!point.settings.empty()) out += fmt::format("<h3>{}</h3>\n", escaped(brief_title(point)));
    if (!head.result.empty()) out += headline_of(head.result, head.rest);
    out += further;
  }
  const std::vector<std::string> doubts = equal_doubts(comparison);
  return doubts.empty() ? out : out + list_of(doubts);
}

}  // namespace

std::string too_few_words(const Comparison& comparison) {
  const int seeds = too_few_seeds(comparison);
  if (seeds == 0) return "";
  const auto comparisons = static_cast<std::size_t>(
      std::ranges::count(comparison.differences, comparison.primary, &ComparedDifference::metric));
  return headline_of(fmt::format("No verdict: {} too few.",
                                 counted(seeds, "seed") + (seeds == 1 ? " is" : " are")),
                     fmt::format("It takes {} at least.", seeds_needed(comparisons)));
}

std::string warnings_box(const ReportData& data) {
  const std::vector<std::string> doubts = warnings(data);
  return doubts.empty() ? "" : "<div class=\"warnings\">\n" + list_of(doubts) + "</div>\n";
}

std::string verdict_section(const ReportData& data) {
  const std::string forests = verdict_forests(data);
  const std::string pictures =
      forests.empty() ? "" : "<div class=\"forests\">\n" + forests + "</div>\n";
  return verdict_in_words(data.comparison) + pictures + verdict_table(data) + warnings_box(data);
}

}  // namespace acid
