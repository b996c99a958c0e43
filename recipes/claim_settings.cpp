#include "recipes/claim_settings.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace acid {
namespace {

using nlohmann::json;

bool is_meant(const json& claim, const PlannedRun& run) {
  for (const auto& [key, value] : claim.at("where").items())
    if (const auto at = pointer_to(key); run.settings.contains(at) && run.settings.at(at) != value)
      return false;
  if (claim.at("kind") != "crossover") return true;
  const auto at = pointer_to(claim.at("key"));
  const json& between = claim.at("between");
  return run.settings.contains(at) &&
         std::ranges::find(between, run.settings.at(at)) != between.end();
}

/// The runs of one algorithm that a claim is about; of a search those of its first value.
struct Meant {
  std::vector<const PlannedCell*> cells;
  std::map<std::string, const PlannedRun*> runs;  // by group

  Meant(const json& claim, const std::string& label, const Plan& plan) {
    for (const PlannedRun& run : plan.compared())
      if (run.label == label && is_meant(claim, run)) runs.emplace(run.group, &run);
    for (const PlannedCell& cell : plan.cells)
      if (runs.contains(cell.group)) cells.push_back(&cell);
  }
};

/// The values of these swept keys.
json values_of(const PlannedCell& cell, const std::vector<std::string>& keys) {
  json values = json::array();
  for (const std::string& key : keys) values.push_back(cell.settings.value(key, json()));
  return values;
}

}  // namespace

json::json_pointer pointer_to(const std::string& key) {
  std::string pointer = "/";
  for (const char one : key) pointer += one == '~' ? "~0" : std::string(1, one == '.' ? '/' : one);
  return json::json_pointer(pointer);
}

std::size_t count_settings(const json& claim, const Plan& plan) {
  const bool has_other = claim.at("kind") != "law", crosses = claim.at("kind") == "crossover";
  const std::string one = "algorithm", than = has_other ? "than" : one;  // keys of the claim
  const Meant first(claim, claim.at(one), plan), other(claim, claim.at(than), plan);
  if (first.cells.empty() || other.cells.empty()) return 0;
  std::vector<std::string> keys;  // that both have
  for (const auto& [key, value] : first.cells.front()->settings.items())
    if (other.cells.front()->settings.contains(key)) keys.push_back(key);
  std::map<json, std::set<std::string>> groups;
  for (const PlannedCell* const cell : other.cells)
    groups[values_of(*cell, keys)].insert(cell->group);
  std::set<std::string> of_first, of_other;
  std::set<json> ends;
  for (const PlannedCell* const cell : first.cells) {
    const auto there = groups.find(values_of(*cell, keys));
    if (there == groups.end()) continue;
    of_first.insert(cell->group);
    of_other.insert(there->second.begin(), there->second.end());
    if (crosses) ends.insert(first.runs.at(cell->group)->settings.at(pointer_to(claim.at("key"))));
  }
  return crosses && ends.size() < 2 ? 0 : std::max(of_first.size(), of_other.size());
}

}  // namespace acid
