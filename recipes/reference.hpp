#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fields.hpp"

namespace acid {

/// The reference of recipes, for docs/RECIPE.md and `acid explain`, made from the declarations that
/// check recipes.

struct RecipeKey {
  std::string name;
  std::string type;      // "a number above 0 and at most 1", "one of none, linear"
  std::string fallback;  // in TOML; empty: the key is required; "–": nothing
  std::string meaning;   // with the unit
  std::string example;   // in TOML: "learning_rate = 0.05"
};

/// One kind of a table.
struct RecipeKind {
  std::string name, summary;
  bool is_default = false;
  std::vector<RecipeKey> keys = {};  // of this kind alone
};

struct RecipeTable {
  std::string path;  // as --set and sweeps name it: "optimizer.schedule"; empty: top level
  std::string summary;
  bool is_list = false;  // [[algorithms]]
  std::vector<RecipeKey> keys = {};
  std::vector<RecipeKind> kinds = {};
};

/// Outside of tables, but for [[algorithms]].
const FieldTable& top_keys();
/// In the order of a recipe.
std::vector<RecipeTable> recipe_reference();
/// The settings, by dotted key, that are not the defaults or have no default.
std::map<std::string, nlohmann::json> changed_from_default(
    const std::map<std::string, nlohmann::json>& settings);

/// A commented recipe to start from, a file in recipes/templates.
struct RecipeTemplate {
  std::string_view name, text;
};
std::span<const RecipeTemplate> recipe_templates();
/// What shows a paper's mechanism and checks its claims, recipes/papers/NAME/mini.toml.
std::span<const RecipeTemplate> paper_recipes();

}  // namespace acid
