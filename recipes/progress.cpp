// What is counted along a run: budget, record.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "engine/recorder/metrics.hpp"
#include "recipes/sections.hpp"

namespace acid {
nlohmann::json check_budget(Checker& checker, const Node* node) {
  const FieldTable& table = table_of("budget");
  std::vector<std::string> lengths;
  for (const Field& field : table.fields)
    if (field.either != 0) lengths.emplace_back(field.name);
  if (node == nullptr) {
    checker.diagnostics().error(
        {}, "the section [budget] is missing",
        fmt::format("say how long a run is: [budget] with {}", one_of(lengths)));
    return nullptr;
  }
  nlohmann::json budget = checker.table(node, "budget", table);
  if (node->is_table() && std::ranges::none_of(lengths, [&](const std::string& length) {
        return budget.contains(length);
      }))
    checker.diagnostics().error(node->place,
                                fmt::format("[budget] needs one of {}", one_of(lengths)),
                                "seconds, bytes and target only end a run earlier: add one");
  return budget;
}

nlohmann::json check_record(Checker& checker, const Node* node) {
  nlohmann::json record = checker.table(node, "record", table_of("record"));
  record["metrics"] = "all";
  const Node* metrics = node == nullptr ? nullptr : node->find("metrics");
  if (metrics == nullptr || (metrics->is_text() && metrics->text() == "all")) return record;
  if (!checker.is_type(metrics, Node::Type::list, "record.metrics",
                       "\"all\" or a list of metric names"))
    return record;
  const std::vector<std::string> known = names_of(kMetrics);
  record["metrics"] = nlohmann::json::array();
  for (const Node& metric : metrics->children) {
    if (!checker.is_type(&metric, Node::Type::text, "record.metrics", "a list of metric names"))
      continue;
    if (std::find(known.begin(), known.end(), metric.text()) == known.end())
      checker.unknown(metric.place, "record.metrics", metric.text(), known);
    record["metrics"].push_back(metric.text());
  }
  return record;
}

}  // namespace acid
