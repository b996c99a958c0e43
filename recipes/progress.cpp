// What is counted along a run: budget, evaluation, checkpoint, record.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/recorder/metrics.hpp"
#include "recipes/sections.hpp"

namespace acid {
namespace {

constexpr std::array<std::string_view, 3> kMain = {"epochs", "gradients", "normalised_time"};
constexpr std::array<std::string_view, 4> kCadence = {"every_epochs", "every_gradients",
                                                      "every_time", "every_seconds"};
// By the clock every sample evaluates, and its log need not say which.
constexpr std::array<std::string_view, 2> kConsensusCadence = {"every_seconds",
                                                               "consensus_every_time"};

// Of the excluding keys, only the one that holds stays.
const Node* keep_one(Checker& checker, const Node* node, std::string_view path,
                     std::span<const std::string_view> keys, nlohmann::json& out) {
  const Node* chosen = checker.only_one(node, path, keys);
  for (const std::string_view key : keys)
    if (chosen == nullptr || chosen->key != key) out.erase(std::string(key));
  return chosen;
}

}  // namespace

nlohmann::json check_budget(Checker& checker, const Node* node) {
  if (node == nullptr) {
    checker.diagnostics().error({}, "the section [budget] is missing",
                                "say how long a run is: [budget] with epochs, gradients or "
                                "normalised_time");
    return nullptr;
  }
  nlohmann::json budget = checker.table(node, "budget", table_of("budget"));
  const Node* main = keep_one(checker, node, "budget", kMain, budget);
  if (node->is_table() && main == nullptr)
    checker.diagnostics().error(node->place,
                                "[budget] needs one of epochs, gradients or normalised_time",
                                "seconds, bytes and target only end a run earlier: add one");
  return budget;
}

nlohmann::json check_evaluation(Checker& checker, const Node* node) {
  nlohmann::json evaluation = checker.table(node, "evaluation", table_of("evaluation"));
  keep_one(checker, node, "evaluation", kCadence, evaluation);
  const Node* both = checker.only_one(node, "evaluation", kConsensusCadence);
  if (both != nullptr && both->key == "every_seconds") evaluation["consensus_every_time"] = nullptr;
  if (both != nullptr && both->key != "every_seconds") evaluation.erase("every_seconds");
  return evaluation;
}

nlohmann::json check_checkpoint(Checker& checker, const Node* node) {
  nlohmann::json checkpoint = checker.table(node, "checkpoint", table_of("checkpoint"));
  keep_one(checker, node, "checkpoint", kCadence, checkpoint);
  return checkpoint;
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
