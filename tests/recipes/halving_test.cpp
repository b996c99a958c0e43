// Successive halving: what is planned.
#include <fmt/format.h>

#include <utility>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

/// Eight values for two algorithms on two graphs.
std::string halved(const std::string& search, const std::string& budget = "gradients = 800") {
  return fmt::format(
      "seeds = [1, 2, 3]\n[task]\ndataset = {{ kind = \"glyphs\", train = 1000 }}\n"
      "model = \"linear\"\nvalidation = 0.1\n[search]\nseeds = [11, 12]\n"
      "optimizer.learning_rate = {{ log = [0.01, 1], count = 8 }}\n{}\n"
      "[sweep]\ntopology.kind = [\"ring\", \"complete\"]\n[budget]\n{}\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\n[[algorithms]]\nkind = \"a2cid2\"\n",
      search, budget);
}

}  // namespace

TEST_CASE("halving gives all values little, and the best of them more, in every cell alike") {
  const Plan plan = compiled(halved("halving = 2"));
  const PlannedSearch& search = *plan.search;
  CHECK(search.halves());
  REQUIRE(search.rungs.size() == 3);  // a fourth would have one value
  for (std::size_t k = 0; k < 3; ++k) {
    const PlannedSearch::Rung& rung = search.rungs[k];
    const std::size_t shorter = std::size_t{8} >> k;
    CHECK(rung.share == 1.0 / static_cast<double>(shorter));
    CHECK(rung.values == shorter);
    CHECK(search.rung_runs(k) == 4 * shorter * 2);
    CHECK(rung.gradients == 4 * 8 * 2 * 100);
    CHECK(plan.tried(k).size() == 4 * 8 * 2);
    REQUIRE(rung.cells.size() == 4);
    for (const PlannedRun& run : plan.tried(k)) {
      CHECK(run.budget_gradients == static_cast<std::int64_t>(800 / shorter));
      CHECK((run.seed == 11 || run.seed == 12));
    }
  }
  CHECK(search.grid_gradients == 4 * 8 * 2 * 800);
  CHECK(search.gradients() * 8 == search.grid_gradients * 3);
  CHECK(plan.search_count() == 4 * 2 * (8 + 4 + 2));
  CHECK(search.final_count() == 4 * 3);
  const nlohmann::json told = to_json(plan)["search"];
  CHECK(told["rungs"][1] ==
        nlohmann::json{{"share", 0.25}, {"values", 4}, {"runs", 32}, {"gradients", 6400}});
  CHECK(told["gradients"] == search.gradients());
  CHECK(told["grid_gradients"] == search.grid_gradients);
  CHECK(told["runs"] == plan.search_count());
}

TEST_CASE("a search without halving is one rung with the whole budget, and its runs are the same") {
  const Plan grid = compiled(halved("")), plan = compiled(halved("halving = 2\nrungs = 2"));
  REQUIRE(grid.search->rungs.size() == 1);
  CHECK_FALSE(grid.search->halves());
  CHECK(grid.search->gradients() == grid.search->grid_gradients);
  CHECK(grid.search->rungs[0].cells == grid.search->cells);
  CHECK(grid.search_count() == grid.runs.size());
  // The last of two rungs has several values, and so the whole budget: these are runs of the grid.
  REQUIRE(plan.search->rungs.size() == 2);
  CHECK(plan.search->rungs[1].share == 1);
  CHECK(plan.search->rungs[1].values == 4);
  CHECK(plan.search->rungs[1].cells == grid.search->cells);
  REQUIRE(plan.tried(1).size() == grid.runs.size());
  for (std::size_t k = 0; k < grid.runs.size(); ++k)
    CHECK(plan.tried(1)[k].digest == grid.runs[k].digest);
  REQUIRE(plan.search->finals.size() == grid.search->finals.size());
  CHECK(plan.search->finals[0].digest == grid.search->finals[0].digest);
}

TEST_CASE("the rungs of any number of values take at most half of the grid's gradients",
          "[release]") {
  for (const int values : {2, 3, 4, 5, 7, 8, 9, 16, 27, 28, 40})
    for (const int factor : {2, 3, 4, 7}) {
      INFO(values << " values, factor " << factor);
      const Plan plan = compiled(
          halved(fmt::format("halving = {}", factor), "gradients = 24011"),
          {fmt::format("search.optimizer.learning_rate={{ log = [0.01, 1], count = {} }}", values),
           "sweep.topology.kind=[\"ring\"]", "search.seeds=[11]"});
      const PlannedSearch& search = *plan.search;
      REQUIRE_FALSE(search.rungs.empty());
      CHECK(search.rungs.front().values == static_cast<std::size_t>(values));
      CHECK(search.rungs.back().values >= 2);
      CHECK(2 * search.gradients() <= search.grid_gradients);
    }
}

TEST_CASE("runs are as long as half of the grid's gradients allow, so some end with all of it",
          "[release]") {
  const auto shares = [](int values, int factor) {
    const Plan plan = compiled(
        halved(fmt::format("halving = {}", factor)),
        {fmt::format("search.optimizer.learning_rate={{ log = [0.01, 1], count = {} }}", values)});
    std::vector<std::pair<std::size_t, double>> rungs;
    for (const PlannedSearch::Rung& rung : plan.search->rungs)
      rungs.emplace_back(rung.values, rung.share);
    return rungs;
  };
  using Rungs = std::vector<std::pair<std::size_t, double>>;
  CHECK(shares(8, 4) == Rungs{{8, 0.25}, {2, 1.0}});
  CHECK(shares(16, 2) == Rungs{{16, 0.125}, {8, 0.25}, {4, 0.5}, {2, 1.0}});
  CHECK(shares(7, 2) == Rungs{{7, 0.25}, {3, 0.5}});
  CHECK(shares(4, 2) == Rungs{{4, 0.25}, {2, 0.5}});
  CHECK(shares(2, 2) == Rungs{{2, 0.5}});
  CHECK(shares(3, 4) == Rungs{{3, 0.25}});
}

TEST_CASE("a shorter run keeps the form of its schedule and its number of evaluations") {
  const std::string schedule =
      "[optimizer]\nschedule = { kind = \"step\", milestones = { epochs = [4, 6] }, "
      "warmup = { epochs = 2 } }\n[evaluation]\nevery_epochs = 1\n";
  const Plan plan = compiled(halved("halving = 2\nrungs = 3",
                                    "epochs = 8\nseconds = "
                                    "40.0\nbytes = 1000") +
                             schedule);
  const PlannedRun &shortest = plan.tried(0)[0], &whole = plan.tried(2)[0];
  const auto of = [](const PlannedRun& run, const char* section) { return run.settings[section]; };
  CHECK(of(shortest, "optimizer") == of(whole, "optimizer"));
  CHECK(of(shortest, "optimizer")["schedule"]["milestones"][0] == Approx(0.5).epsilon(0.01));
  CHECK(shortest.samples->evaluations == 8);
  // 225 gradients are no multiple of 4 workers, which end them a little after the eighth.
  CHECK(whole.samples->evaluations == 9);
  CHECK(of(shortest, "evaluation")["every_time"].get<double>() * 4 ==
        Approx(of(whole, "evaluation")["every_time"].get<double>()));
  CHECK(shortest.budget_gradients == whole.budget_gradients / 4);
  CHECK(of(shortest, "budget")["seconds"] == 10.0);
  CHECK(of(shortest, "budget")["bytes"] == 250);
  CHECK(of(shortest, "task") == of(whole, "task"));
  const Plan timed = compiled(halved("halving = 2", "normalised_time = 80"));
  CHECK(of(timed.tried(0)[0], "budget")["normalised_time"] == 10);
  CHECK(timed.tried(0)[0].budget_gradients == 40);
}

TEST_CASE("settings whose budgets differ may share runs of different rungs") {
  const Plan plan = compiled(halved("halving = 2"),
                             {"sweep.budget.gradients=[800, 1600]", "evaluation.every_epochs=100"});
  REQUIRE(plan.search->rungs.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(plan.tried(k).size() == 2 * 4 * 8 * 2);
    CHECK(plan.search->rungs[k].cells.size() == 8);
  }
}

TEST_CASE("rungs that decide nothing are errors, or warnings, at their place") {
  CHECK_THAT(first_error_of(halved("halving = 1")), ContainsSubstring("must be at least 2"));
  CHECK_THAT(first_error_of(halved("halving = 2.0")), ContainsSubstring("must be a whole number"));
  CHECK_THAT(
      first_error_of(halved("halving = 2\nrungs = 5")),
      ContainsSubstring("with halving = 2 one of 8 values is left after rung 3, and 5 rungs"));
  CHECK(first_error_of(halved("halving = 2\nrungs = 4")).empty());
  CHECK_THAT(only_error_of("[search]\nseeds = [7]\nhalving = 2\noptimizer.learning_rate = [0.1]\n"
                           "[task]\ndataset = \"quadratic\"\n",
                           3)
                 .message,
             ContainsSubstring("has one value, and none to leave out"));
  CHECK_THAT(first_error_of(halved("halving = 2\nrungs = 1")), ContainsSubstring("at least 2"));
  CHECK_THAT(
      first_error_of(halved("halving = 2", "gradients = 24")),
      ContainsSubstring("with 1/8 of its budget a run of the search would have 3 gradients for 4"));
  CHECK_THAT(first_error_of(halved("halving = 300", "gradients = 203")),
             ContainsSubstring(
                 "with 1/300 of its budget a run of the search would have 0 gradients for 4"));
  CHECK(first_error_of(halved("halving = 2", "gradients = 32")).empty());
  CHECK_THAT(only_warning_of(halved("rungs = 2")).message,
             ContainsSubstring("search.rungs has no effect"));
}

}  // namespace acid::test
