#include "recipes/sections.hpp"

#include <array>

#include "engine/methods/listed.hpp"
#include "engine/topology/topology.hpp"

namespace acid {
namespace {

constexpr std::array kSections = {
    Section{"task", &check_task},
    Section{"optimizer", &check_optimizer},
    Section{"workers", &check_workers},
    Section{"topology", &check_topology},
    Section{"budget", &check_budget},
    Section{"streams", &check_streams},
    Section{"execution", &check_execution},
    Section{"evaluation", &check_evaluation},
    Section{"checkpoint", &check_checkpoint},
    Section{"record", &check_record},
};

constexpr std::array kWorkers = {
    Field{.name = "count",
          .type = FieldType::integer,
          .fallback = {},
          .help = "number of workers; 1 is plain SGD",
          .minimum = 1,
          .maximum = 1e6},
};

constexpr double kLargestSeed = 9.2e18;
constexpr std::array kStreams = {
    Field{.name = "init",
          .type = FieldType::integer,
          .fallback = "null",
          .help = "seed of the start point",
          .minimum = 0,
          .maximum = kLargestSeed},
    Field{.name = "data",
          .type = FieldType::integer,
          .fallback = "null",
          .help = "seed of partition, data order and gradient noise",
          .minimum = 0,
          .maximum = kLargestSeed},
    Field{.name = "gossip",
          .type = FieldType::integer,
          .fallback = "null",
          .help = "seed of the edges' clocks",
          .minimum = 0,
          .maximum = kLargestSeed},
    Field{.name = "compute",
          .type = FieldType::integer,
          .fallback = "null",
          .help = "seed of the compute model and random slowdowns",
          .minimum = 0,
          .maximum = kLargestSeed},
};

// The recipe's, else the listing's own; settings of messages that travel as they are have none.
void check_codec(Checker& checker, const Node* node, const AlgorithmEntry& entry,
                 nlohmann::json& algorithm) {
  const Node* const given = node->is_table() ? node->find("codec") : nullptr;
  nlohmann::json codec = checker.kinded(given, "algorithm.codec", kinds_of(codec_catalog()), "none",
                                        {codec_fields(), {}});
  if (given == nullptr && entry.listing != nullptr && entry.listing->codec.is_object())
    codec = entry.listing->codec;
  if (!codec.contains("kind") || codec["kind"] == "none") return;
  algorithm["codec"] = std::move(codec);
}

}  // namespace

std::span<const Section> run_sections() { return kSections; }

nlohmann::json check_workers(Checker& checker, const Node* node) {
  return checker.table(node, "workers", {kWorkers});
}

nlohmann::json check_topology(Checker& checker, const Node* node) {
  return checker.kinded(node, "topology", kinds_of(topology_catalog()), "ring");
}

nlohmann::json check_algorithm(Checker& checker, const Node* node) {
  const Node* const name = node != nullptr && node->is_table() ? node->find("kind") : node;
  if (name != nullptr && name->is_text())
    if (const std::string_view written = written_for(name->text()); !written.empty()) {
      checker.diagnostics().error(name->place,
                                  fmt::format("'{}' is no method of its own", name->text()),
                                  fmt::format("write {}", written));
      return nlohmann::json::object();
    }
  std::vector<Kind> kinds = kinds_of(algorithm_catalog());
  for (const AlgorithmEntry* own : checker.algorithms())
    kinds.push_back({own->name, own->fields, own->summary});
  constexpr std::array<std::string_view, 4> kElsewhere = {"codec", "label", "search", "set"};
  nlohmann::json algorithm = checker.kinded(node, "algorithm", kinds, "", {{}, kElsewhere});
  if (!algorithm.contains("kind")) return algorithm;
  const std::string kind = algorithm["kind"];
  const AlgorithmEntry* entry = find_algorithm(kind);
  for (const AlgorithmEntry* own : checker.algorithms())
    if (own->name == kind) entry = own;
  if (entry->listing != nullptr) algorithm["listing"] = canonical(*entry->listing);
  check_codec(checker, node, *entry, algorithm);
  return algorithm;
}

nlohmann::json check_streams(Checker& checker, const Node* node) {
  const nlohmann::json given = checker.table(node, "streams", {kStreams});
  nlohmann::json fixed = nlohmann::json::object();
  for (const auto& [name, seed] : given.items())
    if (!seed.is_null()) fixed[name] = seed;
  return fixed;
}

Draft check_sections(Checker& checker, const Node& tree) {
  Draft draft{.settings = nlohmann::json::object(), .broken = {}};
  const auto check = [&](std::string_view name, auto function) {
    const int before = checker.diagnostics().reported();
    draft.settings[std::string(name)] = function(checker, tree.find(name));
    if (checker.diagnostics().reported() > before) draft.broken.emplace(name);
  };
  for (const Section& section : kSections) check(section.name, section.check);
  check("algorithm", &check_algorithm);
  return draft;
}

}  // namespace acid
