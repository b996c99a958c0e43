// What the recipe claims of its runs, and what they say of it.
#include "reports/claims.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"

namespace acid {

std::string claims_section(const ReportData& data) {
  if (data.claims.empty()) return "";
  HtmlTable table;
  table.csv = "claims";
  table.head = {"claim", "verdict", "found", "what it says"};
  const bool several = data.experiments.size() > 1;
  if (several) table.head.insert(table.head.begin(), "experiment");
  table.first_number = table.head.size();
  for (const auto& [experiment, judged] : data.claims) {
    std::string words = judged.claim.words() + ".";
    if (!judged.why.empty()) words += " " + judged.why + ".";
    if (const std::string late = registered_words(judged); !late.empty()) words += " " + late;
    const std::string numbers = found(judged);
    table.rows.push_back({text(judged.claim.name), text(std::string(name_of(judged.verdict))),
                          text(numbers.empty() ? "–" : numbers), text(words)});
    auto& row = table.rows.back();
    if (several) row.insert(row.begin(), text(experiment));
  }
  return table.html() +
         note(
             "Claims of one recipe are one family: their p are Holm’s, of exact one-sided tests "
             "paired by seed. A claim over several settings holds only if it holds at each.");
}

}  // namespace acid
