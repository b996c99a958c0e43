#include "recipes/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "recipes/parse.hpp"
#include "recipes/sections.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

const RecipeTable& table_of(const std::vector<RecipeTable>& tables, std::string_view path) {
  const auto found = std::ranges::find(tables, path, &RecipeTable::path);
  REQUIRE(found != tables.end());
  return *found;
}

const RecipeKey& key_of(const std::vector<RecipeKey>& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &RecipeKey::name);
  INFO(name);
  REQUIRE(found != keys.end());
  return *found;
}

// Everything that [table] may hold besides keys: names of tables in it.
bool is_table_in(const std::vector<RecipeTable>& tables, const std::string& path) {
  return std::ranges::any_of(tables, [&](const RecipeTable& one) { return one.path == path; });
}

void check_known(const std::vector<RecipeTable>& tables, const std::string& path,
                 const nlohmann::json& settings) {
  const RecipeTable& table = table_of(tables, path);
  for (const auto& [name, value] : settings.items()) {
    const std::string below = fmt::format("{}.{}", path, name);
    INFO(below);
    if (is_table_in(tables, below)) {
      if (value.is_object()) check_known(tables, below, value);
      continue;
    }
    if (name == "kind" || name == "listing") continue;
    const auto has = [](const std::vector<RecipeKey>& keys, const std::string& key) {
      return std::ranges::find(keys, key, &RecipeKey::name) != keys.end();
    };
    bool known = has(table.keys, name);
    for (const RecipeKind& kind : table.kinds)
      known = known || (kind.name == settings.value("kind", "") && has(kind.keys, name));
    CHECK(known);
  }
}

}  // namespace

TEST_CASE("the reference has types, ranges, defaults, meanings and kinds of keys") {
  const auto tables = recipe_reference();
  const RecipeTable& optimizer = table_of(tables, "optimizer");
  const RecipeKey& rate = key_of(optimizer.keys, "learning_rate");
  CHECK(rate.type == "a number above 0");
  CHECK(rate.fallback == "0.05");
  CHECK(rate.example == "learning_rate = 0.05");
  REQUIRE(optimizer.kinds.size() == 4);
  CHECK(optimizer.kinds[0].is_default);
  CHECK_FALSE(optimizer.kinds[1].is_default);
  CHECK(key_of(optimizer.kinds[0].keys, "momentum").type == "a number at least 0 and below 1");
  CHECK(key_of(table_of(tables, "workers").keys, "count").fallback.empty());
  CHECK(key_of(table_of(tables, "execution").keys, "driver").type == "virtual, threads or mpi");
  CHECK(key_of(table_of(tables, "task").keys, "batch_size").fallback == "32");
  CHECK(table_of(tables, "algorithms").is_list);
  CHECK_FALSE(table_of(tables, "algorithms.codec").kinds.empty());
}

TEST_CASE("the reference has every key of a run's settings") {
  const auto tables = recipe_reference();
  const Plan plan = compiled(
      "[execution]\ndriver = \"mpi\"\n[task]\ndataset = \"glyphs\"\nmodel = \"cnn\"\n"
      "partition = { kind = \"dirichlet\", alpha = 0.1 }\n[[algorithms]]\nkind = \"diloco\"\n");
  for (const auto& [section, settings] : plan.runs.at(0).settings.items()) {
    if (section == "seed") continue;
    check_known(tables, section == "algorithm" ? "algorithms" : section, settings);
  }
}

TEST_CASE("every kind and every table of the reference is said what it is") {
  for (const RecipeTable& table : recipe_reference()) {
    INFO(table.path);
    CHECK_FALSE(table.summary.empty());
    CHECK_FALSE((table.keys.empty() && table.kinds.empty()));
    for (const RecipeKind& kind : table.kinds) {
      INFO(kind.name);
      CHECK_FALSE(kind.summary.empty());
    }
  }
}

TEST_CASE("every example of the reference is TOML, and a value of its key") {
  for (const RecipeTable& table : recipe_reference()) {
    std::vector<RecipeKey> keys = table.keys;
    for (const RecipeKind& kind : table.kinds)
      keys.insert(keys.end(), kind.keys.begin(), kind.keys.end());
    for (const RecipeKey& key : keys) {
      if (key.example.starts_with("[")) continue;  // the heading of a table
      INFO(table.path << "." << key.name << ": " << key.example);
      Diagnostics diagnostics("example.toml", key.example, {});
      const auto tree = parse_recipe(key.example, diagnostics);
      CHECK_FALSE(diagnostics.has_errors());
      CHECK((tree && tree->find(key.name) != nullptr));
    }
  }
}

TEST_CASE("templates are recipes without warnings, and are called as they are named") {
  CHECK(recipe_templates().size() >= 4);
  for (const RecipeTemplate& one : recipe_templates()) {
    INFO(one.name);
    const Plan plan = compile_recipe(std::string(one.name) + ".toml", std::string(one.text), {});
    CHECK(plan.name == one.name);
    CHECK(plan.warnings.empty());
    CHECK(plan.runs.size() >= 9);
  }
}

}  // namespace acid::test
