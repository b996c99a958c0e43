#include <map>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {

TEST_CASE("a sweep is the product of its lists, the first varying slowest") {
  const Plan plan = compiled(
      "[sweep]\n\"workers.count\" = [2, 4]\n\"optimizer.learning_rate\" = [0.1, 0.2, 0.3]\n");
  REQUIRE(plan.runs.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(plan.runs[i].workers == (i < 3 ? 2 : 4));
    CHECK(plan.runs[i].settings["optimizer"]["learning_rate"] ==
          Approx(0.1 * static_cast<double>(1 + i % 3)));
  }
}

TEST_CASE("swept keys may be written without quotes") {
  const Plan plan = compiled("[sweep]\nworkers.count = [2, 4]\noptimizer.momentum = [0.0, 0.9]\n");
  REQUIRE(plan.runs.size() == 4);
  CHECK(plan.runs[3].settings["optimizer"]["momentum"] == 0.9);
}

TEST_CASE("zipped keys vary together, and multiply with the rest") {
  const Plan plan = compiled(
      "[sweep]\n\"workers.count\" = [4, 16]\n[[sweep.zip]]\n"
      "\"topology.kind\" = [\"ring\", \"exponential\"]\n"
      "\"optimizer.learning_rate\" = [0.05, 0.1]\n");
  REQUIRE(plan.runs.size() == 4);
  for (const PlannedRun& run : plan.runs) {
    const bool ring = run.settings["topology"]["kind"] == "ring";
    CHECK(run.settings["optimizer"]["learning_rate"] == (ring ? 0.05 : 0.1));
  }
}

TEST_CASE("a swept kind starts from that kind's own defaults") {
  const Plan plan = compiled(
      "[topology]\nkind = \"random-regular\"\ndegree = 3\n"
      "[optimizer]\nmomentum = 0.9\nlearning_rate = 0.2\n"
      "[workers]\ncount = 8\n"
      "[sweep]\n\"topology.kind\" = [\"random-regular\", \"ring\"]\n"
      "\"optimizer.kind\" = [\"sgd\", \"adamw\"]\n");
  REQUIRE(plan.runs.size() == 4);
  CHECK(plan.runs[0].settings["topology"]["degree"] == 3);
  CHECK_FALSE(plan.runs[2].settings["topology"].contains("degree"));
  CHECK(plan.runs[0].settings["optimizer"]["momentum"] == 0.9);
  CHECK_FALSE(plan.runs[1].settings["optimizer"].contains("momentum"));
  CHECK(plan.runs[1].settings["optimizer"]["beta2"] == 0.999);
  CHECK(plan.runs[1].settings["optimizer"]["learning_rate"] == 0.2);
}

TEST_CASE("whole tables can be swept") {
  const Plan plan = compiled(
      "[sweep]\n\"execution.virtual.slow_workers\" = [{}, { 0 = 10.0 }]\n"
      "\"task.dataset\" = [\"glyphs\", { kind = \"gaussian-mixture\" }]\n");
  REQUIRE(plan.runs.size() == 4);
  CHECK(plan.runs[0].settings["execution"]["virtual"]["slow_workers"].empty());
  CHECK(plan.runs[2].settings["execution"]["virtual"]["slow_workers"]["0"] == 10.0);
  CHECK(plan.runs[1].settings["task"]["dataset"]["kind"] == "gaussian-mixture");
}

TEST_CASE("a swept budget replaces the file's, also one with another count") {
  const Plan plan = compiled("[budget]\nepochs = 3\n[sweep]\n\"budget.gradients\" = [10, 20]\n");
  REQUIRE(plan.runs.size() == 2);
  CHECK(plan.runs[0].budget_gradients == 10);
  CHECK(plan.runs[1].budget_gradients == 20);
}

TEST_CASE("a sweep can reach into the list of algorithms") {
  const Plan plan = compiled(
      "[[algorithms]]\nkind = \"ar-sgd\"\n[[algorithms]]\nkind = \"ad-psgd\"\n"
      "[sweep]\n\"algorithms.1.communication_rate\" = [1, 2]\n");
  // The swept key does not concern ar-sgd, which therefore runs once.
  REQUIRE(plan.runs.size() == 3);
  CHECK(plan.runs[1].settings["algorithm"]["communication_rate"] == 1.0);
  CHECK(plan.runs[2].settings["algorithm"]["communication_rate"] == 2.0);
}

TEST_CASE("an algorithm that sets the swept key itself runs once") {
  const Plan plan = compiled(
      "[sweep]\n\"optimizer.learning_rate\" = [0.1, 0.2]\n[[algorithms]]\nkind = \"ar-sgd\"\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\nset = { \"optimizer.learning_rate\" = 0.3 }\n");
  REQUIRE(plan.runs.size() == 3);
  CHECK(plan.runs[1].settings["optimizer"]["learning_rate"] == 0.3);
  CHECK(plan.runs[2].algorithm == "ar-sgd");
}

TEST_CASE("a mistake that every point of a sweep repeats is reported once") {
  only_error_of(
      "[optimizer]\nmomentun = 1\n[sweep]\n\"optimizer.learning_rate\" = [0.1, 0.2, 0.3]\n", 2);
}

TEST_CASE("a value that is wrong at some points only is reported at those") {
  const auto errors = errors_of(
      completed("[topology]\nkind = \"hypercube\"\n[sweep]\n\"workers.count\" = [4, 6, 8, 10]\n"));
  REQUIRE(errors.size() == 2);
  CHECK_THAT(errors[0].message, ContainsSubstring("6"));
  CHECK_THAT(errors[1].message, ContainsSubstring("10"));
}

namespace {

/// Meetings need a graph that stays.
const std::string kOfGraphs =
    "[[algorithms]]\nkind = \"d-psgd\"\n[[algorithms]]\nkind = \"ad-psgd\"\n"
    "[sweep]\ntopology.kind = [\"ring\", \"one-peer-exponential\"]\n";
const std::string kSkip = "skip_inapplicable = true\n";

}  // namespace

TEST_CASE("cells whose parts do not go together are left out if the sweep says so") {
  const Plan plan = compiled(kOfGraphs + kSkip);
  REQUIRE(plan.left_out.size() == 1);
  CHECK(plan.left_out[0].algorithm == "ad-psgd");
  CHECK(plan.left_out[0].label == "AD-PSGD");
  CHECK(plan.left_out[0].settings == nlohmann::json{{"topology.kind", "one-peer-exponential"}});
  CHECK_THAT(plan.left_out[0].reason, ContainsSubstring("draws pairs instead"));
  REQUIRE(plan.runs.size() == 3);
  CHECK(plan.runs[2].graph.kind == "one-peer-exponential");
  CHECK(plan.runs[2].algorithm == "d-psgd");
  CHECK(to_json(plan)["left_out"][0]["reason"] == plan.left_out[0].reason);
  // What runs is the same run as without the key, which --set can say too.
  const Plan ring = compiled(kOfGraphs, {"sweep.topology.kind=[\"ring\"]"});
  REQUIRE(ring.runs.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) CHECK(ring.runs[k].digest == plan.runs[k].digest);
  CHECK(ring.left_out.empty());
  CHECK(compiled(kOfGraphs, {"sweep.skip_inapplicable=true"}).left_out.size() == 1);
}

TEST_CASE("a refused cell refuses the sweep unless it says otherwise, and the key is named") {
  constexpr const char* kHint = "set sweep.skip_inapplicable = true to leave out such cells";
  for (const char* said : {"", "skip_inapplicable = false\n"}) {
    const Diagnostic error = only_error_of(kOfGraphs + said);
    CHECK_THAT(error.message, ContainsSubstring("draws pairs instead"));
    CHECK_THAT(error.remedy, ContainsSubstring(kHint));
  }
  // It would not help where nothing else runs, and there is nothing to leave out without a sweep.
  for (const char* recipe :
       {"[[algorithms]]\nkind = \"ad-psgd\"\n[sweep]\nworkers.count = [4, 8]\n"
        "[topology]\nkind = \"one-peer-exponential\"\n",
        "[[algorithms]]\nkind = \"d-psgd\"\n[[algorithms]]\nkind = \"ad-psgd\"\n"
        "[topology]\nkind = \"one-peer-exponential\"\n"})
    for (const Diagnostic& error : errors_of(completed(recipe)))
      CHECK_THAT(error.remedy, !ContainsSubstring("skip_inapplicable"));
}

TEST_CASE("a sweep of which nothing can run is refused with all reasons") {
  const auto errors = errors_of(
      completed("[topology]\nkind = \"hypercube\"\n[sweep]\nworkers.count = [6, 10]\n" + kSkip));
  REQUIRE(errors.size() == 3);
  CHECK_THAT(errors[0].message, ContainsSubstring("6"));
  CHECK_THAT(errors[1].message, ContainsSubstring("10"));
  CHECK_THAT(errors[2].message, ContainsSubstring("leaves nothing"));
}

TEST_CASE("a mistake in what is written is never left out") {
  const auto refuses = [](const std::string& recipe, const char* what) {
    CHECK_THAT(only_error_of(recipe).message, ContainsSubstring(what));
  };
  refuses(kOfGraphs + kSkip + "[optimizer]\nmomentun = 0.5\n", "momentun");
  refuses(kOfGraphs + kSkip + "optimizer.momentum = [0.5, 2.0]\n", "momentum must be");
  refuses(kOfGraphs + kSkip + "workers.count = [4, \"8\"]\n", "must be a whole number");
  refuses(kOfGraphs + kSkip + "[[algorithms]]\nkind = \"sgp\"\nsteps = 2\n", "steps");
  refuses("[sweep]\ntopology.kind = [\"ring\", \"rnig\"]\n" + kSkip, "rnig");
  refuses("[topology]\nkind = \"hypercube\"\n[sweep]\nworkers.count = [6, \"8\"]\n" + kSkip,
          "must be");
  refuses("[sweep]\nworkers.count = [4, 8]\nskip_inapplicable = 1\n",
          "sweep.skip_inapplicable must be true or false");
}

TEST_CASE("an algorithm that every setting refuses is a warning where the rest runs") {
  const Plan plan = compiled(
      "[[algorithms]]\nkind = \"d-psgd\"\n[[algorithms]]\nkind = \"ad-psgd\"\nlabel = \"pairs\"\n"
      "[topology]\nkind = \"one-peer-exponential\"\n[sweep]\nworkers.count = [4, 8]\n" +
      kSkip);
  CHECK(plan.left_out.size() == 2);
  CHECK(plan.runs.size() == 2);
  REQUIRE(plan.warnings.size() == 1);
  CHECK_THAT(plan.warnings[0].message, ContainsSubstring("pairs has no run"));
}

TEST_CASE("a search leaves out a cell as a whole, also if one value alone is refused") {
  const std::string search =
      "[search]\nseeds = [101]\nmetric = \"eval_loss\"\n"
      "[task]\ndataset = { kind = \"quadratic\", dimension = 8 }\n";
  const Plan graphs =
      compiled(kOfGraphs + kSkip + search + "[search.optimizer]\nlearning_rate = [0.1, 0.2]\n");
  CHECK(graphs.left_out.size() == 1);
  CHECK(graphs.search->cells.size() == 3);
  CHECK(graphs.runs.size() == 6);
  const Plan degrees =
      compiled("[topology]\nkind = \"random-regular\"\n[sweep]\nworkers.count = [4, 8]\n" + kSkip +
               search + "[search.topology]\ndegree = [3, 5]\n");
  REQUIRE(degrees.left_out.size() == 1);
  CHECK(degrees.left_out[0].settings == nlohmann::json{{"workers.count", 4}});
  CHECK(degrees.search->cells.size() == 1);
  CHECK(degrees.runs.size() == 2);
  for (const PlannedRun& run : degrees.runs) CHECK(run.workers == 8);
}

TEST_CASE("a sweep that is too large is refused before it is built", "[release]") {
  std::string text = "[sweep]\n";
  for (const char* key : {"learning_rate", "momentum", "weight_decay"}) {
    text += "\"optimizer." + std::string(key) + "\" = [";
    for (int i = 1; i <= 50; ++i) text += "0." + std::to_string(100 + i) + ",";
    text += "]\n";
  }
  const auto errors = errors_of(completed(text));
  REQUIRE_FALSE(errors.empty());
  CHECK_THAT(errors[0].message, ContainsSubstring("more than 10000 points"));
}

TEST_CASE("runs of a method that reads no graph are planned once for all graphs of a sweep") {
  const Plan plan = compiled(
      "seeds = [1, 2]\n[sweep]\ntopology.kind = [\"ring\", \"exponential\", \"complete\"]\n"
      "workers.count = [4, 8]\n[[algorithms]]\nkind = \"ad-psgd\"\n"
      "[[algorithms]]\nkind = \"ar-sgd\"\n[[algorithms]]\nkind = \"a-psgd\"\n");
  std::map<std::string, int> runs;
  for (const PlannedRun& run : plan.runs) {
    ++runs[run.algorithm];
    CHECK(run.settings["topology"].is_null() == (run.algorithm != "ad-psgd"));
    CHECK(run.graph.swept.size() == (run.algorithm == "ad-psgd" ? 1U : 3U));
  }
  CHECK(runs == std::map<std::string, int>{{"ad-psgd", 12}, {"ar-sgd", 4}, {"a-psgd", 4}});
}

TEST_CASE("a method that hears all and reads its number of neighbours is of its graph") {
  const auto plan = [](const std::string& hear) {
    return compiled(
        "[sweep]\ntopology.kind = [\"ring\", \"complete\"]\n[[algorithms]]\nkind = \"mine\"\n"
        "[[methods]]\nname = \"mine\"\npeers = \"all\"\nround = \"gradient step say hear\"\n"
        "send = [\"x\"]\nhear = [\"" +
        hear + "\"]\n");
  };
  CHECK(plan("x = mean(0)").runs.size() == 1);
  const Plan reading = plan("x = mean(0) if degree > 1");
  REQUIRE(reading.runs.size() == 2);
  CHECK(reading.runs[0].settings["topology"]["kind"] == "ring");
}

}  // namespace acid::test
