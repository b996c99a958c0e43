#include "recipes/defaults.hpp"

#include <algorithm>
#include <vector>

#include "recipes/reference.hpp"

namespace acid {
namespace {

using Settings = std::map<std::string, nlohmann::json>;

/// A default as the reference prints it: TOML that is JSON as well, or a dash for none.
bool is_fallback(const std::string& fallback, const nlohmann::json& value) {
  const nlohmann::json parsed = nlohmann::json::parse(fallback, nullptr, false);
  return parsed.is_discarded() ? value.is_string() && value == fallback : parsed == value;
}

/// A run has one algorithm; a recipe lists them.
std::string path_in_settings(const RecipeTable& table) {
  return table.path == "algorithms" ? "algorithm" : table.path;
}

void add_defaults(Settings& changed, const std::string& path, const std::vector<RecipeKey>& keys) {
  for (const RecipeKey& key : keys) {
    const auto found = changed.find(path.empty() ? key.name : path + "." + key.name);
    if (found != changed.end() && is_fallback(key.fallback, found->second)) changed.erase(found);
  }
}

}  // namespace

Settings changed_from_default(const Settings& settings) {
  Settings changed = settings;
  std::erase_if(changed, [](const auto& setting) { return setting.second.empty(); });
  for (const RecipeTable& table : recipe_reference()) {
    const std::string path = path_in_settings(table);
    add_defaults(changed, path, table.keys);
    const auto chosen = settings.find(path + ".kind");
    if (chosen == settings.end()) continue;
    const auto kind =
        std::ranges::find(table.kinds, chosen->second.get<std::string>(), &RecipeKind::name);
    if (kind == table.kinds.end()) continue;
    add_defaults(changed, path, kind->keys);
    if (kind->is_default) changed.erase(path + ".kind");
  }
  return changed;
}

}  // namespace acid
