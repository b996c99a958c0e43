#include <fmt/format.h>

#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "recipes/sections.hpp"

namespace acid {
namespace {

const AnalyticEntry* analytic_of(const nlohmann::json& dataset) {
  const auto kind = dataset.find("kind");
  return kind == dataset.end() ? nullptr : find_analytic(kind->get<std::string>());
}

// Reports a key that an analytic task cannot use, with the tasks that can.
void refuse(Checker& checker, const Node* given, const AnalyticEntry& entry) {
  if (given == nullptr) return;
  const std::string& key = given->key;
  std::string others;
  if (key == "batch_size" || key == "partition" || key == "validation")
    for (const AnalyticEntry& other : analytic_catalog())
      if (other.uses_batches) others += fmt::format("{} and ", other.name);
  checker.diagnostics().error(
      given->key_place,
      fmt::format("task.{} has no meaning for the analytic task '{}'", key, entry.name),
      key == "model" ? fmt::format("remove it: {} is trained without one", entry.name)
                     : fmt::format("remove it: {}tasks that train a model have {}, such as "
                                   "dataset = \"glyphs\" with model = \"linear\"",
                                   others, key));
}

}  // namespace

nlohmann::json check_task(Checker& checker, const Node* node) {
  if (node == nullptr) {
    checker.diagnostics().error({}, "the section [task] is missing",
                                "add [task] with dataset and model, what is to be trained");
    return nullptr;
  }
  if (!checker.is_type(node, Node::Type::table, "task", "a table")) return nullptr;
  const FieldTable& table = table_of("task");
  const auto require = [&](const char* key, const char* remedy) {
    const Node* found = node->find(key);
    if (found == nullptr)
      checker.diagnostics().error(node->place, fmt::format("task.{} is required", key), remedy);
    return found;
  };
  const auto member = [&](std::string_view key) {
    return checker.member(node, "task", *table.find(key));
  };
  const Node* dataset = require("dataset", "dataset = \"glyphs\" needs no files");
  nlohmann::json of_dataset = dataset == nullptr ? nlohmann::json::object() : member("dataset");
  const AnalyticEntry* analytic = analytic_of(of_dataset);
  const bool batches = analytic == nullptr || analytic->uses_batches;
  Node usable = *node;
  const auto refuse_all = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      refuse(checker, node->find(key), *analytic);
      if (!batches) usable.erase(key);
    }
  };
  if (analytic != nullptr)
    refuse_all({"label_noise", "label_smoothing", "feature_shift", "augmentation"});
  if (!batches) refuse_all({"batch_size", "partition", "validation"});

  nlohmann::json task = checker.table(&usable, "task", table);
  task["dataset"] = std::move(of_dataset);
  task["model"] = task["batch_size"] = task["partition"] = nullptr;
  if (analytic != nullptr) {
    refuse(checker, node->find("model"), *analytic);
  } else if (task["dataset"].contains("kind")) {
    if (require("model", "model = \"linear\" is the smallest one") != nullptr)
      task["model"] = member("model");
  } else if (node->find("model") != nullptr) {
    member("model");  // the data set is unknown: checks the model alone
  }
  // Keys without effect are left out, so that runs without them keep their digests.
  for (const char* key : {"label_noise", "label_smoothing", "feature_shift"})
    if (task.contains(key) && (analytic != nullptr || task[key] == 0)) task.erase(key);
  if (analytic != nullptr || !augmentation_of(task["augmentation"]).any())
    task.erase("augmentation");
  if (!batches) return task;
  task["batch_size"] = member("batch_size");
  task["partition"] = member("partition");
  return task;
}

}  // namespace acid
