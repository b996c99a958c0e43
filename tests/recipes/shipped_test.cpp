#include <filesystem>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {

TEST_CASE("every shipped recipe compiles without warnings") {
  int recipes = 0;
  for (const auto& file : std::filesystem::directory_iterator(SOURCE_ROOT "/recipes")) {
    if (file.path().extension() != ".toml") continue;
    ++recipes;
    INFO(file.path());
    const Plan plan = load_recipe(file.path().string());
    CHECK(plan.name == file.path().stem().string());
    CHECK_FALSE(plan.runs.empty());
    CHECK(plan.warnings.empty());
  }
  CHECK(recipes >= 4);
}

TEST_CASE("the quickstart compares three algorithms over enough seeds for a test, in a minute") {
  const Plan plan = load_recipe(SOURCE_ROOT "/recipes/quickstart.toml");
  REQUIRE(plan.runs.size() == 24);
  for (const PlannedRun& run : plan.runs) {
    CHECK(run.workers == 16);
    CHECK(run.parameters > 10'000);
    CHECK(run.parameters < 40'000);
    CHECK(run.budget_gradients >= 3000);
    CHECK(run.budget_gradients <= 8000);
    CHECK(run.settings["evaluation"]["consensus_every_time"] == 5.0);
  }
}

TEST_CASE("the study searches the rates of four algorithms at four settings, on other seeds") {
  const Plan plan = load_recipe(SOURCE_ROOT "/recipes/study.toml");
  REQUIRE(plan.search);
  CHECK(plan.search->cells.size() == 14);
  CHECK(plan.search->values == 4);
  CHECK(plan.search->metric == "validation_loss");
  CHECK(plan.runs.size() == 112);
  CHECK(plan.search->final_count() == 140);
  for (const PlannedRun& run : plan.runs) CHECK(run.examples->validation == 500);
}

}  // namespace acid::test
