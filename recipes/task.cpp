#include <fmt/format.h>

#include <array>

#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "engine/models/layout.hpp"
#include "recipes/sections.hpp"

namespace acid {
namespace {

constexpr std::array kPlain = {
    Field{.name = "buffers",
          .type = FieldType::text,
          .fallback = "\"average\"",
          .help = "batch-norm statistics: averaged with the parameters, or each worker's own: then "
                  "the mean is evaluated with every worker's, its result is the mean of these, and "
                  "its file has none",
          .choices = "average,local"},
};
constexpr Field kBatchSize = {.name = "batch_size",
                              .type = FieldType::integer,
                              .fallback = "32",
                              .help = "examples per gradient and worker",
                              .minimum = 1,
                              .maximum = 1e9};
constexpr Field kValidation = {.name = "validation",
                               .type = FieldType::number,
                               .fallback = "null",
                               .help = "examples held out: how many or, below 1, which share",
                               .minimum = 0,
                               .maximum = 1e9,
                               .minimum_excluded = true};
constexpr Field kLabelNoise = {.name = "label_noise",
                               .type = FieldType::number,
                               .fallback = "null",
                               .help =
                                   "share of the training labels replaced by another class, "
                                   "drawn anew for each seed; never those of tests",
                               .minimum = 0,
                               .maximum = 1};
constexpr Field kLabelSmoothing = {.name = "label_smoothing",
                                   .type = FieldType::number,
                                   .fallback = "null",
                                   .help =
                                       "share of each label that all classes have evenly, in the "
                                       "loss of gradients; evaluations, of training examples too, "
                                       "take labels as they are",
                                   .minimum = 0,
                                   .maximum = 1,
                                   .maximum_excluded = true};
constexpr Field kFeatureShift = {.name = "feature_shift",
                                 .type = FieldType::number,
                                 .fallback = "null",
                                 .help =
                                     "Gaussian noise on the features of training examples, of this "
                                     "variance with the last of N workers and of i/N of it with "
                                     "worker i; the same in every pass, never on those of tests",
                                 .minimum = 0,
                                 .maximum = 1e6};
constexpr std::array<std::string_view, 9> kTaskElsewhere = {
    "dataset",     "model",           "batch_size",    "partition",   "validation",
    "label_noise", "label_smoothing", "feature_shift", "augmentation"};

nlohmann::json dataset_of(Checker& checker, const Node* node) {
  std::vector<Kind> kinds = kinds_of(dataset_catalog());
  add_kinds(kinds, analytic_catalog());
  return checker.kinded(node, "task.dataset", kinds, "");
}

const AnalyticEntry* analytic_of(const nlohmann::json& dataset) {
  const auto kind = dataset.find("kind");
  return kind == dataset.end() ? nullptr : find_analytic(kind->get<std::string>());
}

// A key that an analytic task cannot use, and who can.
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
  nlohmann::json task = checker.table(node, "task", {kPlain, kTaskElsewhere});
  const auto require = [&](const char* key, const char* remedy) {
    const Node* found = node->find(key);
    if (found == nullptr)
      checker.diagnostics().error(node->place, fmt::format("task.{} is required", key), remedy);
    return found;
  };

  const Node* dataset = require("dataset", "dataset = \"glyphs\" needs no files");
  task["dataset"] = dataset == nullptr ? nlohmann::json::object() : dataset_of(checker, dataset);
  const AnalyticEntry* analytic = analytic_of(task["dataset"]);
  const bool batches = analytic == nullptr || analytic->uses_batches;

  task["model"] = nullptr;
  if (analytic != nullptr) {
    refuse(checker, node->find("model"), *analytic);
  } else if (task["dataset"].contains("kind")) {
    if (const Node* model = require("model", "model = \"linear\" is the smallest one"))
      task["model"] = checker.kinded(model, "task.model", kinds_of(model_catalog()), "");
  } else if (const Node* model = node->find("model")) {
    // The data set is unknown: the model is checked by itself.
    checker.kinded(model, "task.model", kinds_of(model_catalog()), "");
  }

  const Node* batch_size = node->find("batch_size");
  const Node* partition = node->find("partition");
  const Node* validation = node->find("validation");
  task["batch_size"] = task["partition"] = nullptr;
  const Node *noise = node->find("label_noise"), *augmentation = node->find("augmentation");
  const Node* const shift = node->find("feature_shift");
  const Node* const smoothing = node->find("label_smoothing");
  if (analytic != nullptr) {
    refuse(checker, noise, *analytic);
    refuse(checker, smoothing, *analytic);
    refuse(checker, shift, *analytic);
    refuse(checker, augmentation, *analytic);
  }
  if (!batches) {
    refuse(checker, batch_size, *analytic);
    refuse(checker, partition, *analytic);
    refuse(checker, validation, *analytic);
    return task;
  }
  // Left out they are no settings, so that runs without them keep their digests.
  if (auto asked = checker.value_or_fallback(validation, kValidation, "task"); !asked.is_null())
    task["validation"] = std::move(asked);
  if (auto asked = checker.value_or_fallback(noise, kLabelNoise, "task");
      analytic == nullptr && !asked.is_null() && asked != 0)
    task["label_noise"] = std::move(asked);
  if (auto asked = checker.value_or_fallback(smoothing, kLabelSmoothing, "task");
      analytic == nullptr && !asked.is_null() && asked != 0)
    task["label_smoothing"] = std::move(asked);
  if (auto asked = checker.value_or_fallback(shift, kFeatureShift, "task");
      analytic == nullptr && !asked.is_null() && asked != 0)
    task["feature_shift"] = std::move(asked);
  if (auto asked = checker.table(augmentation, "task.augmentation", {kAugmentationFields});
      analytic == nullptr && augmentation_of(asked).any())
    task["augmentation"] = std::move(asked);
  task["batch_size"] = checker.value_or_fallback(batch_size, kBatchSize, "task");
  task["partition"] =
      checker.kinded(partition, "task.partition", kinds_of(partition_catalog()), "shared");
  return task;
}

}  // namespace acid
