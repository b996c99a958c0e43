#include "recipes/sections.hpp"

#include <algorithm>
#include <array>

#include "engine/methods/common_fields.hpp"
#include "engine/methods/listed.hpp"
#include "settings/run_settings.hpp"

namespace acid {

using nlohmann::json;

namespace {

struct Check {
  std::string_view section;
  json (*check)(Checker& checker, const Node* node);
};
constexpr std::array kChecks = {
    Check{"task", &check_task},     Check{"optimizer", &check_optimizer},
    Check{"budget", &check_budget}, Check{"execution", &check_execution},
    Check{"record", &check_record}, Check{"algorithm", &check_algorithm},
};

// Sets the recipe's codec, or else the listing's; no key for "none".
void check_codec(Checker& checker, const Node* node, const AlgorithmEntry& entry, json& algorithm) {
  const Node* const given = node->is_table() ? node->find("codec") : nullptr;
  json codec = checker.member(node, "algorithm", *table_of("algorithm").find("codec"));
  if (given == nullptr && entry.listing->codec.is_object()) codec = entry.listing->codec;
  if (!codec.contains("kind") || codec["kind"] == "none") return;
  algorithm["codec"] = std::move(codec);
}

}  // namespace

std::vector<std::string> run_sections() {
  std::vector<std::string> names;
  for (const Field& section : run_table().fields)
    if (section.name != "algorithm") names.emplace_back(section.name);
  return names;
}

const FieldTable& table_of(std::string_view section) { return *run_table().find(section)->table; }

json check_algorithm(Checker& checker, const Node* node) {
  if (const Node* const name = node != nullptr ? kind_of(*node) : nullptr; name != nullptr)
    if (const std::string_view written = written_for(name->text()); !written.empty()) {
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
  const std::string kind = algorithm["kind"];
  const AlgorithmEntry* entry = find_algorithm(kind);
  for (const AlgorithmEntry* own : checker.algorithms())
    if (own->name == kind) entry = own;
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
