#include "reports/html/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

std::string list_of(const std::vector<std::string>& sentences) {
  std::string out = "<ul>\n";
  for (const std::string& sentence : sentences)
    out += fmt::format("<li>{}</li>\n", escaped(sentence));
  return out + "</ul>\n";
}

/// Of many points only the winners stand open.
constexpr std::size_t kMostOpenVerdicts = 4;

std::string verdict_in_words(const ReportData& data) {
  std::string out;
  const std::vector<ComparedPoint>& points = data.comparison.points;
  for (const ComparedPoint& point : points) {
    const std::vector<std::string> sentences = verdict_sentences(data.comparison, point);
    const Headline head = headline(data.comparison, point);
    if (sentences.empty() && head.result.empty()) continue;
    if (!point.settings.empty()) out += fmt::format("<h3>{}</h3>\n", escaped(point_title(point)));
    if (!head.result.empty())
      out += fmt::format("<p class=\"headline\"><strong>{}</strong> {}</p>\n", escaped(head.result),
                         escaped(head.rest));
    if (sentences.empty()) continue;
    const std::string list = list_of(sentences);
    out += points.size() <= kMostOpenVerdicts ? list : details("Against the baseline", list);
  }
  return out;
}

}  // namespace

std::string verdict_section(const ReportData& data) {
  std::string out = "<section id=\"verdict\">\n<h2>Verdict</h2>\n";
  const std::string words = verdict_in_words(data), forests = verdict_forests(data);
  const std::string pictures =
      forests.empty() ? "" : "<div class=\"forests\">\n" + forests + "</div>\n";
  const bool beside = data.comparison.points.size() == 1 && !words.empty() && !forests.empty();
  if (beside)
    out += fmt::format("<div class=\"beside\">\n<div>\n{}</div>\n{}</div>\n", words, pictures);
  else
    out += words + pictures;
  out += verdict_table(data);
  const std::vector<std::string> doubts = warnings(data);
  if (!doubts.empty()) out += "<div class=\"warnings\">\n" + list_of(doubts) + "</div>\n";
  return out + "</section>\n";
}

}  // namespace acid
