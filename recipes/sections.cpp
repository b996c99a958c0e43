#include "recipes/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "engine/methods/common_fields.hpp"
#include "engine/methods/listed.hpp"
#include "engine/recorder/metrics.hpp"
#include "recipes/over.hpp"
#include "settings/run_settings.hpp"

namespace acid {

using nlohmann::json;

namespace {

const AnalyticEntry* analytic_of(const json& dataset) {
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

json check_task(Checker& checker, const Node* node) {
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
  json of_dataset = dataset == nullptr ? json::object() : member("dataset");
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

  json task = checker.table(&usable, "task", table);
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

void check_milestones(Checker& checker, const Node& node, const json& schedule) {
  const auto found = schedule.find("milestones");
  if (found == schedule.end()) return;
  const json& milestones = found->is_object() ? found->front() : *found;
  double last = 0;
  for (const json& milestone : milestones) {
    if (milestone.get<double>() <= last) {
      const std::string unit = found->is_object() ? "." + found->begin().key() : "";
      checker.diagnostics().error(place_of(node, "milestones" + unit),
                                  "optimizer.schedule.milestones must ascend",
                                  "sort them, each once: milestones = [0.5, 0.75]");
      return;
    }
    last = milestone.get<double>();
  }
}

json check_optimizer(Checker& checker, const Node* node) {
  json optimizer = checker.table(node, "optimizer", table_of("optimizer"));
  const Node* schedule = node == nullptr ? nullptr : node->find("schedule");
  if (schedule != nullptr) check_milestones(checker, *schedule, optimizer["schedule"]);
  if (optimizer.value("nesterov", false) && optimizer.value("momentum", 0.0) == 0)
    checker.diagnostics().error(place_of(*node, "nesterov"),
                                "optimizer.nesterov needs momentum, which is 0",
                                "set momentum, such as 0.9, or remove nesterov");
  return optimizer;
}

json check_budget(Checker& checker, const Node* node) {
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
  json budget = checker.table(node, "budget", table);
  if (node->is_table() && std::ranges::none_of(lengths, [&](const std::string& length) {
        return budget.contains(length);
      }))
    checker.diagnostics().error(node->place,
                                fmt::format("[budget] needs one of {}", one_of(lengths)),
                                "seconds, bytes and target only end a run earlier: add one");
  return budget;
}

json check_record(Checker& checker, const Node* node) {
  json record = checker.table(node, "record", table_of("record"));
  record["metrics"] = "all";
  const Node* metrics = node == nullptr ? nullptr : node->find("metrics");
  if (metrics == nullptr || (metrics->is_text() && metrics->text() == "all")) return record;
  if (!checker.is_type(metrics, Node::Type::list, "record.metrics",
                       "\"all\" or a list of metric names"))
    return record;
  const std::vector<std::string> known = names_of(kMetrics);
  record["metrics"] = json::array();
  for (const Node& metric : metrics->children) {
    if (!checker.is_type(&metric, Node::Type::text, "record.metrics", "a list of metric names"))
      continue;
    if (std::find(known.begin(), known.end(), metric.text()) == known.end())
      checker.unknown(metric.place, "record.metrics", metric.text(), known);
    record["metrics"].push_back(metric.text());
  }
  return record;
}

// Sets the recipe's codec, or else the listing's; no key for "none".
void check_codec(Checker& checker, const Node* node, const AlgorithmEntry& entry, json& algorithm) {
  const Node* const given = node->is_table() ? node->find("codec") : nullptr;
  json codec = checker.member(node, "algorithm", *table_of("algorithm").find("codec"));
  if (given == nullptr && entry.listing->codec.is_object()) codec = entry.listing->codec;
  if (!codec.contains("kind") || codec["kind"] == "none") return;
  algorithm["codec"] = std::move(codec);
}

json check_algorithm(Checker& checker, const Node* node) {
  if (const Node* const name = node != nullptr ? kind_of(*node) : nullptr; name != nullptr)
    if (const std::string_view written = written_for(name->text());
        !written.empty() && checker.algorithm(name->text()) == nullptr) {
      checker.diagnostics().error(name->place,
                                  fmt::format("'{}' is no method of its own", name->text()),
                                  fmt::format("write {}", written));
      return json::object();
    }
  const FieldTable& table = table_of("algorithm");
  std::vector<Kind> kinds(table.kinds().begin(), table.kinds().end());
  for (const AlgorithmEntry* own : checker.algorithms())
    kinds.push_back({own->name, own->fields, own->summary});
  json algorithm = checker.kinded(node, "algorithm", kinds, "", table.fields);
  if (!algorithm.contains("kind")) return algorithm;
  const AlgorithmEntry* const entry = checker.algorithm(text(algorithm, "kind"));
  // The rate that is expected of such exchanges follows from all sections (Resolver::runs).
  constexpr auto kRate = kCommunicationRateField.name;
  if (algorithm.contains(kRate) && algorithm[std::string(kRate)] == kSaturates) {
    algorithm[std::string(kRate)] = 1.0;
    algorithm[kSaturates] = true;
  }
  if (!entry->by_name) algorithm["listing"] = canonical(*entry->listing);
  check_codec(checker, node, *entry, algorithm);
  return algorithm;
}

struct Check {
  std::string_view section;
  json (*check)(Checker& checker, const Node* node);
};
constexpr std::array kChecks = {
    Check{"task", &check_task},     Check{"optimizer", &check_optimizer},
    Check{"budget", &check_budget}, Check{"execution", &check_execution},
    Check{"record", &check_record}, Check{"algorithm", &check_algorithm},
};

}  // namespace

std::vector<std::string> run_sections() {
  std::vector<std::string> names;
  for (const Field& section : run_table().fields)
    if (section.name != "algorithm") names.emplace_back(section.name);
  return names;
}

const FieldTable& table_of(std::string_view section) { return *run_table().find(section)->table; }

void refuse_top_key(Checker& checker, const Node& key, std::span<const std::string> known) {
  std::string path = key.key;
  for (const Node* node = &key; node->is_table() && !node->children.empty();)
    path += "." + (node = &node->children.front())->key;
  if (const auto whole = whole_key(path))
    checker.diagnostics().error(key.key_place, fmt::format("unknown key '{}'", clip(key.key, 60)),
                                fmt::format("did you mean '{}'?", *whole));
  else
    checker.unknown(key.key_place, "key", key.key, known);
}

Draft check_sections(Checker& checker, const Node& tree) {
  Draft draft{.settings = json::object(), .broken = {}, .share = 1};
  for (const Field& section : run_table().fields) {
    const int before = checker.diagnostics().reported();
    const Node* const node = tree.find(section.name);
    const auto own = std::ranges::find(kChecks, section.name, &Check::section);
    draft.settings[std::string(section.name)] =
        own == kChecks.end() ? checker.table(node, section.name, *section.table)
                             : own->check(checker, node);
    if (checker.diagnostics().reported() > before) draft.broken.emplace(section.name);
  }
  return draft;
}

}  // namespace acid
