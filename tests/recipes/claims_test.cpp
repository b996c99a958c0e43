// What [[claims]] of a recipe may say.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

constexpr const char* kRuns = R"(
seeds = "1-8"
[task]
dataset = "quadratic"
[sweep]
workers.count = [4, 16]
[[algorithms]]
kind = "ar-sgd"
[[algorithms]]
kind = "ad-psgd"
)";

std::string with(const std::string& keys) {
  return std::string(kRuns) + "[[claims]]\nname = \"it\"\n" + keys;
}

std::string problem(const std::string& keys) { return first_error_of(with(keys)); }

const std::string kBetter =
    "kind = \"better\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\nmetric = \"eval_loss\"\n";

}  // namespace

TEST_CASE("a claim is completed, and no run depends on it") {
  const Plan plan = compiled(with(kBetter + "by = \"2 %\"\nat = \"bytes\"\nseeds = \"1-6\"\n"
                                            "where = { workers.count = 16 }\n"));
  const Plan plain = compiled(kRuns);
  REQUIRE(plan.runs.size() == plain.runs.size());
  for (std::size_t k = 0; k < plan.runs.size(); ++k)
    CHECK(plan.runs[k].digest == plain.runs[k].digest);
  CHECK(plan.comparison["claims"] == json::parse(R"([{"name": "it", "kind": "better",
      "algorithm": "AD-PSGD", "than": "AR-SGD", "metric": "eval_loss", "at": "bytes",
      "by": {"value": 0.02, "relative": true}, "level": 0.05, "seeds": [1, 2, 3, 4, 5, 6],
      "points": 1, "where": {"workers.count": 16}}])"));
  CHECK(problem("kind = \"better\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n"
                "metric = \"gradients_per_second\"\nby = \"100 %\"\n")
            .empty());
  CHECK_THAT(problem("kind = \"better\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n"
                     "metric = \"gradients\"\n"),
             ContainsSubstring("neither more nor fewer"));
  const Plan law = compiled(
      with("kind = \"law\"\nalgorithm = \"ad-psgd\"\nmetric = \"seconds\"\nwithin = \"1 %\"\n"
           "formula = \"workers.count\"\n"));
  CHECK_FALSE(law.comparison["claims"][0].contains("than"));
  CHECK(law.comparison["claims"][0]["within"] == json{{"value", 0.01}, {"relative", true}});
  const Plan least = compiled(with(kBetter));
  CHECK(least.comparison["claims"][0]["points"] == 2);
  CHECK_THAT(problem(kBetter + "where = { \"\" = 16 }\n"), ContainsSubstring("several values"));
  CHECK_THAT(problem(kBetter + "where = { \"workers/count\" = 16 }\n"),
             ContainsSubstring("several values"));
  CHECK(least.comparison["claims"][0]["seeds"].size() == 8);
  CHECK(least.comparison["claims"][0]["by"] == json{{"value", 0.0}, {"relative", false}});
  CHECK(least.comparison["claims"][0]["at"] == "end");
}

TEST_CASE(
    "a formula has its place, an override that names a file is told, and no seeds are refused") {
  const std::string law =
      "kind = \"law\"\nalgorithm = \"ad-psgd\"\nmetric = \"seconds\"\nwithin = 1\n";
  const Diagnostic place = compiled(with(law + "formula = \"1 +\"\n")).formulas.at("it");
  CHECK(place.source_line == "formula = \"1 +\"");
  CHECK(place.column == 11);
  CHECK(compiled(with(kBetter)).formulas.empty());
  const auto errors = errors_of(completed(kRuns), {"claims=claims.toml"});
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0].remedy, ContainsSubstring("claims = \"claims.toml\" into the recipe"));
  CHECK(problem(kBetter + "seeds = []\n") == "seeds is empty");
}

TEST_CASE("a claim chooses a setting that is a table by worker, also an empty one") {
  std::string runs = kRuns;
  const std::string swept = "workers.count = [4, 16]";
  runs.replace(runs.find(swept), swept.size(),
               "execution.virtual.slow_workers = [{}, { 0 = 10.0 }]");
  const auto chosen = [&](const std::string& slow) {
    const Plan plan = compiled(runs + "[[claims]]\nname = \"it\"\n" + kBetter +
                               "where = { execution.virtual.slow_workers = " + slow + " }\n");
    return plan.comparison["claims"][0]["where"];
  };
  CHECK(chosen("{}") == json{{"execution.virtual.slow_workers", json::object()}});
  CHECK(chosen("{ 0 = 10.0 }") == json{{"execution.virtual.slow_workers", {{"0", 10.0}}}});
  CHECK_THAT(first_error_of(runs + "[[claims]]\nname = \"it\"\n" + kBetter +
                            "where = { execution.virtual.slow_workers.0 = 2.0 }\n"),
             ContainsSubstring("of execution.virtual.slow_workers"));
}

TEST_CASE("a claim is about what a sweep varies, not what an algorithm sets or a search chooses") {
  const std::string crossover =
      "[[claims]]\nname = \"it\"\nkind = \"crossover\"\nalgorithm = \"ad-psgd\"\nthan = "
      "\"a2cid2\"\nmetric = \"eval_loss\"\nkey = \"topology.kind\"\nbetween = [\"ring\", "
      "\"star\"]\n";
  std::string graphs = std::string(kRuns) + "[[algorithms]]\nkind = \"a2cid2\"\n";
  const std::string swept = "workers.count = [4, 16]";
  graphs.replace(graphs.find(swept), swept.size(), "topology.kind = [\"ring\", \"star\"]");
  // AR-SGD has no graph.
  CHECK(compiled(graphs + crossover).comparison["claims"][0]["points"] == 2);
  const std::string at_rate = "where = { optimizer.learning_rate = 0.2 }\n";
  CHECK_THAT(first_error_of(std::string(kRuns) +
                            "set = { optimizer.learning_rate = 0.2 }\n[[claims]]\nname = \"it\"\n" +
                            kBetter + at_rate),
             ContainsSubstring("several values of 'optimizer.learning_rate'"));
  CHECK_THAT(first_error_of(std::string(kRuns) +
                            "[search]\noptimizer.learning_rate = [0.1, 0.2]\nseeds = [101]\n"
                            "[[claims]]\nname = \"it\"\n" +
                            kBetter + at_rate),
             ContainsSubstring("the search chooses optimizer.learning_rate"));
}

TEST_CASE("a claim is about the settings of a sweep at which both of its algorithms run") {
  const auto recipe = [](const char* first, const char* other) {
    return fmt::format(
        "[task]\ndataset = \"quadratic\"\n[sweep]\nworkers.count = [4, 8, 16]\n"
        "[[algorithms]]\nkind = \"ar-sgd\"\n{}\n[[algorithms]]\nkind = \"ad-psgd\"\n{}\n"
        "[[claims]]\nname = \"it\"\n",
        first, other);
  };
  const std::string crossover =
      "kind = \"crossover\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n"
      "metric = \"eval_loss\"\nkey = \"workers.count\"\nbetween = [4, 16]\n";
  const char *const at_4 = "set = { workers.count = 4 }", *const at_8 =
                                                              "set = { workers.count = 8 }";
  CHECK(compiled(recipe("", "") + kBetter).comparison["claims"][0]["points"] == 3);
  CHECK(compiled(recipe(at_4, "") + kBetter).comparison["claims"][0]["points"] == 1);
  CHECK(compiled(recipe("", at_8) + kBetter).comparison["claims"][0]["points"] == 1);
  const Diagnostic apart = only_error_of(recipe(at_4, at_8) + kBetter);
  CHECK_THAT(apart.message, ContainsSubstring("do not run at the same settings"));
  CHECK(compiled(recipe("", "") + crossover).comparison["claims"][0]["points"] == 2);
  CHECK_THAT(only_error_of(recipe("", at_4) + crossover).message,
             ContainsSubstring("do not run at the same settings"));
}

TEST_CASE("a claim that no run could decide is refused, with what could") {
  CHECK(problem(kBetter).empty());
  CHECK_THAT(problem("kind = \"better\"\nalgorithm = \"a2cid2\"\nthan = \"ar-sgd\"\n"
                     "metric = \"eval_loss\"\n"),
             ContainsSubstring("unknown algorithm 'a2cid2' in claims.algorithm"));
  CHECK_THAT(problem("kind = \"better\"\nalgorithm = \"ar-sgd\"\nthan = \"ar-sgd\"\n"
                     "metric = \"eval_loss\"\n"),
             ContainsSubstring("this is one"));
  CHECK_THAT(problem(kBetter + "seeds = [9]\n"), ContainsSubstring("it is no seed of this recipe"));
  CHECK_THAT(problem(kBetter + "where = { workers.count = 5 }\n"),
             ContainsSubstring("unknown value '5' of workers.count"));
  CHECK_THAT(problem(kBetter + "where = { topology.kind = \"ring\" }\n"),
             ContainsSubstring("several values of 'topology.kind'"));
  for (const char* key : {"workers.cout", "", "a~2", "a/b"})
    CHECK_THAT(problem(fmt::format("kind = \"crossover\"\nalgorithm = \"ad-psgd\"\nthan = "
                                   "\"ar-sgd\"\nmetric = \"eval_loss\"\nkey = \"{}\"\n"
                                   "between = [4, 16]\n",
                                   key)),
               ContainsSubstring(fmt::format("several values of '{}'", key)));
  CHECK_THAT(problem(kBetter + "margin = 0.1\n"), ContainsSubstring("margin"));
  CHECK_THAT(problem(kBetter + "by = -1\n"), ContainsSubstring("must be above 0"));
  CHECK_THAT(problem("kind = \"equivalent\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n"
                     "metric = \"eval_loss\"\n"),
             ContainsSubstring("claims.margin is missing"));
  CHECK_THAT(problem("kind = \"ratio\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n"
                     "metric = \"bytes\"\nbounds = [2, 1]\n"),
             ContainsSubstring("the smaller first"));
  CHECK_THAT(problem("kind = \"ratio\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n"
                     "metric = \"bytes\"\nbounds = [1, 2]\nat = \"seconds\"\n"),
             ContainsSubstring("is a total of a run"));
  CHECK_THAT(problem("kind = \"crossover\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n"
                     "metric = \"eval_loss\"\nkey = \"workers.count\"\nbetween = [4, 5]\n"),
             ContainsSubstring("unknown value '5' of workers.count"));
  CHECK_THAT(problem(kBetter + "[[claims]]\nname = \"it\"\n" + kBetter),
             ContainsSubstring("two claims have this name"));
  CHECK_THAT(problem("kind = \"best\"\n"), ContainsSubstring("best"));
}

}  // namespace acid::test
