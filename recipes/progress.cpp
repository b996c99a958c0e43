// What is counted along a run: budget, evaluation, checkpoint, record.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/recorder/metrics.hpp"
#include "recipes/sections.hpp"

namespace acid {
namespace {

constexpr Field positive(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = FieldType::number,
          .fallback = "null",
          .help = help,
          .minimum = 0,
          .minimum_excluded = true};
}
constexpr Field positive_count(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = FieldType::integer,
          .fallback = "null",
          .help = help,
          .minimum = 1,
          .maximum = 1e15};
}

constexpr std::array kBudget = {
    positive("epochs", "samples over all workers divided by the data set's size"),
    positive_count("gradients", "gradients in total, over all workers"),
    positive("normalised_time", "gradients per worker"),
    positive("seconds", "stop after this time, wall clock or simulated, if it comes first"),
    positive("bytes", "stop after this much traffic if it comes first"),
};
constexpr std::array<std::string_view, 3> kMain = {"epochs", "gradients", "normalised_time"};
constexpr std::array<std::string_view, 1> kBudgetElsewhere = {"target"};

// Those that every driver can check at a sample.
constexpr std::array kTarget = {
    Field{.name = "metric",
          .type = FieldType::text,
          .fallback = {},
          .help = "what to watch, such as eval_accuracy",
          .choices = "eval_loss,eval_accuracy,train_loss_at_mean,worker_loss,worker_loss_worst,"
                     "worker_accuracy,worker_accuracy_worst,validation_loss,validation_accuracy,"
                     "consensus_distance"},
    Field{.name = "value",
          .type = FieldType::number,
          .fallback = {},
          .help = "stop when the metric reaches it"},
};

constexpr std::array kEvaluation = {
    positive("every_epochs", "evaluate loss and accuracy once per this many epochs"),
    positive_count("every_gradients", "evaluate once per this many gradients in total"),
    positive("every_time", "evaluate once per this much normalised time"),
    positive("every_seconds", "evaluate once per this many seconds, wall clock or simulated"),
    positive("consensus_every_time", "sample the consensus distance, normalised time"),
    Field{.name = "workers",
          .type = FieldType::text,
          .fallback = "\"end\"",
          .help = "when to evaluate each worker's own model besides the mean, each as dear as the "
                  "mean; always: at every evaluation",
          .choices = "end,always,never"},
};
constexpr std::array<std::string_view, 4> kEvaluationCadence = {"every_epochs", "every_gradients",
                                                                "every_time", "every_seconds"};
// By the clock every sample evaluates, and its log need not say which.
constexpr std::array<std::string_view, 2> kConsensusCadence = {"every_seconds",
                                                               "consensus_every_time"};

// In every help text of a cadence, since that is shown with the one key that is wrong.
#define ACID_UNLESS_CADENCE \
  " (default: as often as costs at most 2 % of the time, and at an interruption)"
constexpr std::array kCheckpoint = {
    positive("every_epochs", "checkpoint once per this many epochs" ACID_UNLESS_CADENCE),
    positive_count("every_gradients",
                   "checkpoint once per this many gradients in total" ACID_UNLESS_CADENCE),
    positive("every_time", "checkpoint once per this much normalised time" ACID_UNLESS_CADENCE),
    positive("every_seconds",
             "checkpoint once per this many wall-clock seconds" ACID_UNLESS_CADENCE),
#undef ACID_UNLESS_CADENCE
    Field{.name = "keep",
          .type = FieldType::integer,
          .fallback = "2",
          .help = "how many checkpoints of a run to keep",
          .minimum = 1,
          .maximum = 1e6},
};
constexpr std::array<std::string_view, 4> kCheckpointCadence = {"every_epochs", "every_gradients",
                                                                "every_time", "every_seconds"};

constexpr std::array kRecord = {
    Field{.name = "events",
          .type = FieldType::boolean,
          .fallback = "null",
          .help = "keep the event log (default: threads always, they are proven from it; virtual "
                  "only when asked, it is executed again)"},
};
constexpr std::array<std::string_view, 1> kRecordElsewhere = {"metrics"};

// Of the excluding keys, only the one that holds stays.
const Node* keep_one(Checker& checker, const Node* node, std::string_view path,
                     std::span<const std::string_view> keys, nlohmann::json& out) {
  const Node* chosen = checker.only_one(node, path, keys);
  for (const std::string_view key : keys)
    if (chosen == nullptr || chosen->key != key) out.erase(std::string(key));
  return chosen;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric& metric : kMetrics) names.emplace_back(metric.name);
  return names;
}

}  // namespace

nlohmann::json check_budget(Checker& checker, const Node* node) {
  if (node == nullptr) {
    checker.diagnostics().error({}, "the section [budget] is missing",
                                "say how long a run is: [budget] with epochs, gradients or "
                                "normalised_time");
    return nullptr;
  }
  nlohmann::json budget = checker.table(node, "budget", {kBudget, kBudgetElsewhere});
  const Node* main = keep_one(checker, node, "budget", kMain, budget);
  if (node->is_table() && main == nullptr)
    checker.diagnostics().error(node->place,
                                "[budget] needs one of epochs, gradients or normalised_time",
                                "seconds, bytes and target only end a run earlier: add one");
  const Node* target = node->find("target");
  budget["target"] =
      target == nullptr ? nlohmann::json() : checker.table(target, "budget.target", {kTarget});
  return budget;
}

nlohmann::json check_evaluation(Checker& checker, const Node* node) {
  nlohmann::json evaluation = checker.table(node, "evaluation", {kEvaluation});
  keep_one(checker, node, "evaluation", kEvaluationCadence, evaluation);
  const Node* both = checker.only_one(node, "evaluation", kConsensusCadence);
  if (both != nullptr && both->key == "every_seconds") evaluation["consensus_every_time"] = nullptr;
  if (both != nullptr && both->key != "every_seconds") evaluation.erase("every_seconds");
  return evaluation;
}

nlohmann::json check_checkpoint(Checker& checker, const Node* node) {
  nlohmann::json checkpoint = checker.table(node, "checkpoint", {kCheckpoint});
  keep_one(checker, node, "checkpoint", kCheckpointCadence, checkpoint);
  return checkpoint;
}

nlohmann::json check_record(Checker& checker, const Node* node) {
  nlohmann::json record = checker.table(node, "record", {kRecord, kRecordElsewhere});
  record["metrics"] = "all";
  const Node* metrics = node == nullptr ? nullptr : node->find("metrics");
  if (metrics == nullptr || (metrics->is_text() && metrics->text() == "all")) return record;
  if (!checker.is_type(metrics, Node::Type::list, "record.metrics",
                       "\"all\" or a list of metric names"))
    return record;
  const std::vector<std::string> known = metric_names();
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
