#include "reports/run_names.hpp"

#include <set>
#include <utility>

#include "reports/settings.hpp"

namespace acid {
namespace {

bool is_named(const std::string& key) {
  return key != "seed" && !is_algorithm_key(key) && !key.starts_with("evaluation.") &&
         !key.starts_with("checkpoint.") && !key.starts_with("budget.");
}

std::set<std::string> told_apart_by(const std::vector<RunSummary>& runs,
                                    const std::vector<FlatSettings>& settings) {
  using Name = std::pair<std::string, std::string>;
  std::map<std::pair<Name, std::string>, nlohmann::json> first;
  std::set<std::string> keys;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const auto& [key, value] : settings[r]) {
      if (!is_named(key)) continue;
      const Name name{runs[r].algorithm, runs[r].label};
      const auto [known, is_new] = first.emplace(std::pair(name, key), value);
      if (!is_new && known->second != value) keys.insert(key);
    }
  return keys;
}

/// The words before a value: "learning_rate ", for a kind none, for a count its table, "workers ".
std::string before_value(const std::string& key) {
  const std::string last = last_word(key);
  if (last == "kind") return {};
  return (last == "count" ? last_word(table_of_key(key)) : last) + " ";
}

}  // namespace

std::map<std::string, SettingName> setting_names(const Store& store,
                                                 const std::vector<RunSummary>& runs,
                                                 const std::set<std::string>& told) {
  std::vector<std::string> ids;
  for (const RunSummary& run : runs) ids.push_back(run.id);
  std::vector<FlatSettings> settings;
  for (const nlohmann::json& each : run_settings(store, ids)) settings.push_back(flatten(each));
  std::set<std::string> keys = told_apart_by(runs, settings);
  for (const std::string& key : told) keys.erase(key);
  std::map<std::string, SettingName> names;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    SettingName& name = names[runs[r].id];
    for (const std::string& key : keys)
      if (const nlohmann::json& value = value_at(settings[r], key);
          value.is_primitive() && !value.is_null()) {
        const std::string separator = name.full.empty() ? "" : ", ", text = value_text(value);
        name.full += separator + before_value(key) + text;
        name.values += separator + text;
      }
  }
  return names;
}

std::vector<std::string> settings_in_experiments(const Store& store,
                                                 const std::vector<RunSummary>& runs,
                                                 const std::set<std::string>& told) {
  // Runs of a group differ in their seeds alone.
  std::map<std::string, std::map<std::string, RunSummary>> groups;  // by experiment
  for (const RunSummary& run : runs) groups[run.experiment].emplace(run.group, run);
  std::map<std::pair<std::string, std::string>, std::string> names;
  for (const auto& [experiment, of_group] : groups) {
    std::vector<RunSummary> members;
    for (const auto& [group, run] : of_group) members.push_back(run);
    const auto named = setting_names(store, members, told);
    for (const auto& [group, run] : of_group) names[{experiment, group}] = named.at(run.id).full;
  }
  std::vector<std::string> settings;
  for (const RunSummary& run : runs) settings.push_back(names.at({run.experiment, run.group}));
  return settings;
}

}  // namespace acid
