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
std::string further_words(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  std::vector<std::string> sentences;
  for (const ComparedPoint& point : comparison.points)
    for (const auto words : {consensus_sentences, margin_sentences, equal_sentences})
      for (const std::string& sentence : words(comparison, point))
        sentences.push_back((point.settings.empty() ? "" : brief_title(point) + ": ") + sentence);
  std::string out = sentences.empty() ? "" : list_of(sentences);
  if (const auto doubts = equal_doubts(comparison); !doubts.empty()) out += list_of(doubts);
  return out;
}

}  // namespace

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

std::string verdict_in_words(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  if (const int seeds = too_few_seeds(comparison); seeds > 0)
    return fmt::format(
        "<p class=\"headline\"><strong>No verdict: {} too few.</strong> It takes {} at "
        "least.</p>\n",
        counted(seeds, "seed") + (seeds == 1 ? " is" : " are"),
        seeds_needed(family_size(comparison)));
  std::string out;
  for (const ComparedPoint& point : comparison.points) {
    const Headline head = headline(comparison, point);
    if (head.result.empty()) continue;
    if (!point.settings.empty()) out += fmt::format("<h3>{}</h3>\n", escaped(brief_title(point)));
    out += fmt::format("<p class=\"headline\"><strong>{}</strong> {}</p>\n", escaped(head.result),
                       escaped(head.rest));
  }
  return out;
}

std::string warnings_box(const ReportData& data) {
  const std::vector<std::string> doubts = warnings(data);
  return doubts.empty() ? "" : "<div class=\"warnings\">\n" + list_of(doubts) + "</div>\n";
}

std::string verdict_section(const ReportData& data) {
  const std::string forests = verdict_forests(data);
  const std::string pictures =
      forests.empty() ? "" : "<div class=\"forests\">\n" + forests + "</div>\n";
  return verdict_in_words(data) + further_words(data) + pictures + verdict_table(data) +
         warnings_box(data);
}

}  // namespace acid
