#include "recipes/unused.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/data/analytic.hpp"

namespace acid {
namespace {

const char* why_not_of_dataset(const nlohmann::json& dataset, std::string_view option) {
  const AnalyticEntry* const analytic = find_analytic(text(dataset, "kind"));
  const bool tells = analytic != nullptr && analytic->no_effect != nullptr;
  return tells ? analytic->no_effect(option, dataset) : nullptr;
}

const char* why_not_of_algorithm(const RunInUse& run, const Field& option) {
  if (option.needs_peers && use::alone(run)) return use::kAlone;
  if (run.entry.no_effect == nullptr) return nullptr;
  return run.entry.no_effect(option.name, run.settings.algorithm, use::gossips(run));
}

}  // namespace

void UnusedKeys::expect_overrides(const Node& root, const std::vector<std::string>& sections) {
  for (const std::string& section : sections)
    if (const Node* const given = root.find(section)) expect_overrides(*given, section);
}

void UnusedKeys::expect_overrides(const Node& given, const std::string& path) {
  if (given.is_table())
    for (const Node& child : given.children) expect_overrides(child, path + "." + child.key);
  else if (given.place.override_index >= 0)
    overrides_.push_back({path, given.key_place});
}

void UnusedKeys::look_at(const Node& tree, const RunInUse& run) {
  any_run_ = true;
  for (Override& one : overrides_) {
    const Node* const found = tree.at(one.path);
    one.kept =
        one.kept || (found != nullptr && found->place.override_index == one.place.override_index);
  }
  look_at(run_table().fields, tree, "", run);
  if (const Node* const dataset = tree.at("task.dataset"))
    for (const Node& option : dataset->children)
      add("task.dataset." + option.key, option.key_place,
          why_not_of_dataset(run.settings.task.dataset, option.key));
  for (const Field& option : run.entry.fields) {
    const std::string path = fmt::format("algorithm.{}", option.name);
    if (const Node* const given = tree.at(path))
      add(path, given->key_place, why_not_of_algorithm(run, option));
  }
}

// Keys in an unused table get no findings of their own.
void UnusedKeys::look_at(std::span<const Field> fields, const Node& table, const std::string& path,
                         const RunInUse& run) {
  for (const Field& field : fields) {
    const Node* const given = table.find(field.name);
    if (given == nullptr || given->origin == Origin::machine) continue;
    const std::string full = path + std::string(field.name);
    const char* const why_not = field.unused == nullptr ? nullptr : field.unused(run);
    if (field.unused != nullptr) add(full, given->key_place, why_not);
    if (field.table != nullptr && given->is_table() && why_not == nullptr)
      look_at(field.table->fields, *given, full + ".", run);
  }
}

void UnusedKeys::add(const std::string& path, const Place& place, const char* why_not) {
  const auto key = std::tuple(place.override_index, place.line, place.column, path);
  Finding& finding = written_.try_emplace(key, Finding{place, false, {}}).first->second;
  if (why_not == nullptr)
    finding.used = true;
  else
    finding.problem = {fmt::format("{} has no effect: {}", path, why_not),
                       "remove it, or make a run use it"};
}

void UnusedKeys::warn(const std::vector<std::string>& swept, Diagnostics& diagnostics) const {
  for (const Override& one : overrides_) {
    if (!any_run_ || one.kept) continue;
    // A value of "topology" has "topology.kind", too.
    const auto sweep = std::ranges::find_if(
        swept, [&](const std::string& key) { return (one.path + ".").starts_with(key + "."); });
    diagnostics.warn(
        one.place,
        {fmt::format("{} has no effect: every run has it from [sweep], a search, or the set of its "
                     "algorithm",
                     one.path),
         sweep == swept.end() ? "change it there"
                              : fmt::format("change it there: --set sweep.{}=[…]", *sweep)});
  }
  for (const auto& [key, finding] : written_)
    if (!finding.used) diagnostics.warn(finding.place, finding.problem);
}

}  // namespace acid
