// Settings that a run does not have, and tables by worker, as people read them.
#include <nlohmann/json.hpp>

#include "reports/forms.hpp"
#include "reports/html/sections.hpp"
#include "reports/settings.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::has;
using synthetic::page_of;

namespace {

std::vector<std::string> every_form(const Comparison& comparison) {
  std::vector<std::string> texts;
  for (const ComparisonForm& form : comparison_forms())
    if (form.option != "json") texts.push_back(form.print(comparison, {}));
  return texts;
}

}  // namespace

TEST_CASE("values are written as a recipe has them, and what is absent is a dash") {
  CHECK(value_text(nullptr) == "–");
  CHECK(value_text("ring") == "ring");
  CHECK(value_text(0.1) == "0.1");
  CHECK(value_text(true) == "true");
  CHECK(value_text(json::object()) == "none");
  CHECK(value_text(json::array()) == "none");
  CHECK(value_text({64, 32}) == "[64, 32]");
  CHECK(value_text({{"0", 10.0}}) == "{ 0 = 10 }");
  CHECK(value_text(json::parse(R"([{"edge": [1, 2], "kind": "slow"}])")) ==
        "[{ edge = [1, 2], kind = \"slow\" }]");
}

TEST_CASE("a table by worker is one setting") {
  const FlatSettings flat =
      flatten({{"execution", {{"slow_workers", {{"0", 10.0}}}, {"driver", "virtual"}}}});
  CHECK(value_at(flat, "execution.slow_workers") == json{{"0", 10.0}});
  CHECK(flat.size() == 2);
}

TEST_CASE("a sweep over stragglers has a column for them, and nowhere a null") {
  std::vector<ComparedRun> runs;
  for (const json& slow : {json::object(), json{{"0", 10.0}}})
    for (const char* algorithm : {"ar-sgd", "ad-psgd"})
      for (std::uint64_t seed = 1; seed <= 3; ++seed)
        runs.push_back(synthetic::run(algorithm, seed, {{"eval_loss", 1.0 / seed}},
                                      {{"execution", {{"virtual", {{"slow_workers", slow}}}}}}));
  const Comparison comparison = compare_runs(runs);
  REQUIRE(comparison.points.size() == 2);
  CHECK(point_title(comparison.points[0]) == "execution.virtual.slow_workers = none");
  CHECK(point_title(comparison.points[1]) == "execution.virtual.slow_workers = { 0 = 10 }");
  for (const std::string& text : every_form(comparison)) {
    INFO(text);
    CHECK_FALSE(has(text, "null"));
  }
  CHECK_FALSE(has(verdict_table(synthetic::page_of(comparison)), "null"));
}

TEST_CASE("of a search without a graph nothing is said of graphs, in any form") {
  std::vector<ComparedRun> runs;
  for (const char* graph : {"ring", "exponential", ""})
    for (const double rate : {0.1, 0.2, 0.4})
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        json settings{{"optimizer", {{"learning_rate", rate}}}};
        settings["topology"] = *graph == '\0' ? json() : json{{"kind", graph}};
        runs.push_back(synthetic::run(*graph == '\0' ? "ar-sgd" : "ad-psgd", seed,
                                      {{"validation_loss", rate}, {"eval_loss", rate + 0.1 * seed}},
                                      settings));
      }
  CompareOptions options;
  options.best_over = {"optimizer.learning_rate"};
  options.selection_seeds = {1, 2};
  const Comparison comparison = compare_runs(runs, options);
  REQUIRE(comparison.selections.size() == 1);
  for (const std::string& text : every_form(comparison)) {
    INFO(text);
    CHECK_FALSE(has(text, "null"));
    CHECK_FALSE(has(text, " at :"));
  }
  CHECK(has(to_latex(comparison), "% ar-sgd: learning_rate = 0.1, of 3 values"));
  CHECK(has(to_markdown(comparison), "- ar-sgd: learning_rate = 0.1, of 3 values"));
  const std::string page = search_section(synthetic::page_of(comparison));
  CHECK_FALSE(has(page, "null"));
  CHECK(has(page, "<td>–</td>"));
  CHECK(has(checklist_section(synthetic::page_of(comparison)),
            "optimizer.learning_rate by validation_loss over 2 seeds"));
}
