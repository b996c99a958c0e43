#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fields.hpp"

namespace acid {

/// What a recipe can say, for people: docs/RECIPE.md, `acid explain`. It comes from the
/// declarations that check recipes, so that it cannot say anything else than they do.

struct RecipeKey {
  std::string name;
  std::string type;      // "a number above 0 and at most 1", "one of none, linear"
  std::string fallback;  // in TOML; empty: the key is required; "–": nothing
  std::string meaning;   // with the unit
  std::string example;   // in TOML: "learning_rate = 0.05"
};

/// One of the kinds that a table can have.
struct RecipeKind {
  std::string name, summary;
  bool is_default = false;
  std::vector<RecipeKey> keys = {};  // of this kind alone
};

struct RecipeTable {
  std::string path;  // as --set and sweeps name it: "optimizer.schedule"; empty: outside of tables
  std::string summary;
  bool is_list = false;  // [[algorithms]]
  std::vector<RecipeKey> keys = {};
  std::vector<RecipeKind> kinds = {};
};

/// Outside of tables, but for [[algorithms]].
const FieldTable& top_keys();
/// In the order of a recipe.
std::vector<RecipeTable> recipe_reference();

/// A commented recipe to start from.
struct RecipeTemplate {
  std::string_view name, text;
};
/// Those of recipes/templates.
std::span<const RecipeTemplate> recipe_templates();

}  // namespace acid
