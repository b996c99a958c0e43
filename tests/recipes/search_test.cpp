#include <fmt/format.h>

#include <set>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

constexpr const char* kWithData =
    "[task]\ndataset = { kind = \"glyphs\", train = 1000 }\nmodel = \"linear\"\nvalidation = 0.1\n";

std::string study(const std::string& search, const std::string& more = {}) {
  return fmt::format(
      "seeds = [1, 2, 3]\n{}[search]\n{}\n[sweep]\ntopology.kind = [\"ring\", \"complete\"]\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\n[[algorithms]]\nkind = \"a2cid2\"\n{}",
      kWithData, search, more);
}

constexpr const char* kRates = "optimizer.learning_rate = [0.1, 0.2, 0.4]\nseeds = [11, 12]\n";

}  // namespace

TEST_CASE("a search has a cell for each algorithm at each setting, and seeds of its own") {
  const Plan plan = compiled(study(kRates));
  REQUIRE(plan.search);
  CHECK(plan.search->keys == std::vector<std::string>{"optimizer.learning_rate"});
  CHECK(plan.search->metric == "validation_loss");
  CHECK(plan.search->values == 3);
  REQUIRE(plan.search->cells.size() == 4);
  CHECK(plan.runs.size() == 4 * 3 * 2);
  CHECK(plan.search->finals.size() == 4 * 3 * 3);
  CHECK(plan.search->final_count() == 4 * 3);
  std::set<std::string> groups;
  for (const auto& cell : plan.search->cells) {
    CHECK(cell.size() == 3);
    groups.insert(cell.begin(), cell.end());
  }
  CHECK(groups.size() == 12);
  for (const PlannedRun& run : plan.runs) CHECK((run.seed == 11 || run.seed == 12));
  for (const PlannedRun& run : plan.search->finals) {
    CHECK(run.seed <= 3);
    CHECK(groups.contains(run.group));
  }
  CHECK(to_json(plan)["search"]["final_runs"] == 12);
  CHECK(to_json(compiled(""))["search"].is_null());
}

TEST_CASE("a run of a search is the run that a recipe without one asks for") {
  const Plan plan = compiled(study(kRates));
  const Plan plain = compiled(std::string("seeds = [11]\n") + kWithData +
                              "[optimizer]\nlearning_rate = 0.1\n[topology]\nkind = \"ring\"\n");
  CHECK(plan.runs[0].digest == plain.runs[0].digest);
}

TEST_CASE("an algorithm may search keys of its own, as many values as the others") {
  const std::string own =
      "search = { optimizer.learning_rate = [0.1], communication_rate = [0.5, 1.0, 2.0] }\n";
  const Plan plan = compiled(study(kRates, own));
  CHECK(plan.search->keys ==
        std::vector<std::string>{"optimizer.learning_rate", "algorithm.communication_rate"});
  CHECK(plan.search->cells[1].size() == 3);
  CHECK(plan.search->finals.back().settings["algorithm"]["communication_rate"] == 2.0);
  CHECK_THAT(first_error_of(
                 study(kRates, "search = { optimizer.learning_rate = [0.1, 0.2, 0.3, 0.4] }\n")),
             ContainsSubstring("one algorithm would try 3 values, another 4"));
}

TEST_CASE("what would make a search dishonest is refused") {
  const auto refusal = [](const std::string& search, const std::string& more = {}) {
    return first_error_of(study(search, more));
  };
  const std::string rates = "optimizer.learning_rate = [0.1, 0.2]\n";
  CHECK_THAT(refusal(rates), ContainsSubstring("search needs a list of seeds of its own"));
  CHECK_THAT(refusal(rates + "seeds = []\n"), ContainsSubstring("seeds of its own"));
  CHECK_THAT(refusal(rates + "seeds = [3, 11]\n"),
             ContainsSubstring("seed 3 is one of the runs' seeds"));
  CHECK_THAT(refusal(rates + "seeds = [11, 11]\n"), ContainsSubstring("seed 11 is listed twice"));
  CHECK_THAT(refusal(rates + "seeds = [11]\nmetric = \"eval_loss\"\n"),
             ContainsSubstring("cannot choose by 'eval_loss': it is measured on the test set"));
  CHECK_THAT(refusal("seeds = [11]\n"), ContainsSubstring("no values to try"));
  CHECK_THAT(refusal("budget.gradients = [10, 20]\nseeds = [11]\n"),
             ContainsSubstring("'budget.gradients' cannot be searched"));
  CHECK_THAT(refusal("topology.kind = [\"ring\", \"star\"]\nseeds = [11]\n"),
             ContainsSubstring("'topology.kind' is swept, too"));
  CHECK_THAT(refusal("optimizer.learning_rate = [0.1, 0.1]\nseeds = [11]\n"),
             ContainsSubstring("two values of the search are the same run"));
  CHECK_THAT(refusal("optimizer.learning_rate = 0.1\nseeds = [11]\n"),
             ContainsSubstring("needs a list of values"));
  CHECK_THAT(refusal(rates + "seeds = [11]\n", "set = { optimizer.learning_rate = 0.3 }\n"),
             ContainsSubstring("'optimizer.learning_rate' is set for an algorithm, and searched"));
  CHECK_THAT(first_error_of("[search]\noptimizer.learning_rate = [0.1, 0.2]\nseeds = [11]\n"),
             ContainsSubstring("chooses on validation data, and there is none"));
  CHECK_THAT(first_error_of("[[algorithms]]\nkind = \"ad-psgd\"\n"
                            "search = { communication_rate = [1, 2] }\n"),
             ContainsSubstring("an algorithm has a search, and the recipe has none"));
}

TEST_CASE("tasks without examples have nothing to hold out, and choose by the objective") {
  const Plan plan = compiled("[task]\ndataset = \"quadratic\"\n[search]\n" + std::string(kRates));
  CHECK(plan.search->metric == "eval_loss");
}

TEST_CASE("a search whose runs end at a target is doubted: what it reads is cut off there") {
  const std::string task = "[task]\ndataset = \"quadratic\"\n[search]\n" + std::string(kRates);
  CHECK(compiled(task).warnings.empty());
  CHECK_THAT(only_warning_of(task + "[budget]\ngradients = 400\n"
                                    "target = { metric = \"eval_loss\", value = 0.4 }\n")
                 .message,
             ContainsSubstring("says only how far beyond it a run came"));
}

}  // namespace acid::test
