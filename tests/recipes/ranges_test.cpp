// Ranges of numbers in the place of lists.
#include "recipes/ranges.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

/// The values that a sweep over the key gives its runs.
std::vector<nlohmann::json> swept(const std::string& key, const std::string& range,
                                  const std::string& more = {}) {
  const Plan plan = compiled(fmt::format("{}[sweep]\n{} = {}\n", more, key, range));
  std::vector<nlohmann::json> values;
  for (const PlannedCell& cell : plan.cells) values.push_back(cell.settings.at(key));
  REQUIRE(values.size() == plan.runs.size());
  return values;
}

using Values = std::vector<nlohmann::json>;

}  // namespace

TEST_CASE("a range has equal ratios or equal steps, both ends, and six digits between them") {
  CHECK(swept("optimizer.learning_rate", "{ log = [1e-3, 1], count = 7 }") ==
        Values{0.001, 0.00316228, 0.01, 0.0316228, 0.1, 0.316228, 1});
  CHECK(swept("optimizer.learning_rate", "{ log = [0.123456789, 1.0], count = 2 }") ==
        Values{0.123456789, 1.0});
  CHECK(swept("optimizer.momentum", "{ linear = [0.0, 0.9], count = 4 }") ==
        Values{0.0, 0.3, 0.6, 0.9});
  CHECK(swept("optimizer.weight_decay", "{ linear = [0, 1], count = 3 }") == Values{0, 0.5, 1});
}

TEST_CASE("a range around 0 has 0 in its middle") {
  Diagnostics diagnostics("", "", {});
  const auto end = [](double value) {
    Node node;
    node.type = Node::Type::number;
    node.scalar = value;
    return node;
  };
  for (const double most : {0.3, 0.1, 0.7, 1e-5, 3e5}) {
    Node table, ends;
    ends.type = Node::Type::list;
    ends.key = "linear";
    ends.children = {end(-most), end(2 * most)};
    table.children = {ends};
    const auto range = read_range("key", table, diagnostics);
    REQUIRE(range);
    CHECK(range->values(4).children[1].scalar == 0.0);
  }
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("whole numbers of a range are whole numbers of the recipe") {
  CHECK(swept("workers.count", "{ log = [2, 16], count = 4 }") == Values{2, 4, 8, 16});
  CHECK(swept("workers.count", "{ linear = [2, 11], count = 3, whole = true }") ==
        Values{2, 7, 11});
  CHECK(compiled("[sweep]\nworkers.count = { linear = [2, 4], count = 3 }\n").runs[1].digest ==
        compiled("[sweep]\nworkers.count = [2, 3, 4]\n").runs[1].digest);
}

TEST_CASE("ranges vary with other axes, in zipped groups, in searches and from the command line") {
  CHECK(compiled("[sweep]\nworkers.count = { linear = [2, 4], count = 3 }\n"
                 "optimizer.learning_rate = [0.1, 0.2]\n")
            .runs.size() == 6);
  const Plan zipped = compiled(
      "[[sweep.zip]]\nworkers.count = { linear = [2, 4], count = 3 }\n"
      "optimizer.learning_rate = [0.1, 0.2, 0.3]\n");
  REQUIRE(zipped.runs.size() == 3);
  CHECK(zipped.runs[2].workers == 4);
  const Plan searched = compiled(
      "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\nvalidation = 0.1\n[search]\nseeds = [7]\n"
      "optimizer.learning_rate = { log = [0.01, 1], count = 3 }\n");
  REQUIRE(searched.search);
  CHECK(searched.search->values == 3);
  CHECK(searched.runs[1].settings["optimizer"]["learning_rate"] == 0.1);
  CHECK(compiled("", {"sweep.workers.count={ linear = [2, 4], count = 3 }"}).runs.size() == 3);
}

TEST_CASE("a range that gives no numbers is an error at its place") {
  const auto refused = [](const std::string& range, const std::string& message) {
    check_only_error("[sweep]\noptimizer.learning_rate = " + range + "\n", 2, message);
  };
  refused("{ log = [1e-3, 1] }", "does not say how many numbers");
  refused("{ log = [0, 1], count = 3 }", "begins at 0, which is not above 0");
  refused("{ log = [-1.0, 1], count = 3 }", "begins at -1, which is not above 0");
  refused("{ linear = [1, 0], count = 3 }", "begins at 1 and ends at 0");
  refused("{ linear = [1, 1.0], count = 3 }", "begins at 1 and ends at 1");
  refused("{ linear = [-1e308, 1e308], count = 3 }", "is too wide");
  refused("{ linear = [1], count = 3 }", "needs two ends, not 1");
  refused("{ linear = [1, 2, 3], count = 3 }", "needs two ends, not 3");
  refused("{ linear = 1, count = 3 }", "must be a list of numbers, not the whole number 1");
  refused("{ linear = [\"0\", 1], count = 3 }", "must be a number, not the text");
  refused("{ linear = [0, inf], count = 3 }", "must be finite, not inf");
  refused("{ linear = [0, 1], count = 1 }", "must be at least 2");
  refused("{ linear = [0, 1], count = 2.5 }", "must be a whole number");
  refused("{ linear = [0, 1], count = 1000000000000 }", "at most 10000");
  refused("{ linear = [0, 1], cuont = 3 }", "unknown key 'cuont'");
  refused("{ linear = [0, 1], log = [1, 2], count = 3 }", "has equal ratios and equal steps");
  refused("{ linear = [0, 1.5], count = 2, whole = true }", "has whole numbers, and an end at 1.5");
  refused("{ linear = [0, 1], count = 3, whole = true }", "has no 3 different whole numbers");
  refused("{ log = [1.0, 1.000001], count = 9 }", "has no 9 different numbers of six digits");
  check_only_error("[sweep]\nworkers.count = { linear = [2, 5], count = 3 }\n", 2,
                   "must be a whole number, not the number 3.5");
}

TEST_CASE("more runs than a plan can have are refused before they are planned") {
  const std::string wide = "[sweep]\noptimizer.learning_rate = { log = [1e-3, 1], count = 1000 }\n";
  const auto refused = [](const std::string& text, int line, const std::string& runs) {
    check_only_error(text, line, "the recipe asks for " + runs + " runs, and may ask for 10000");
  };
  refused("seeds = \"1-11\"\n" + wide, 2, "11000");
  refused(
      "seeds = \"1-10000\"\n[[algorithms]]\nkind = \"ad-psgd\"\n[[algorithms]]\nkind = "
      "\"ar-sgd\"\n",
      2, "20000");
  refused("seeds = [1, 2]\n" + wide + "workers.count = { linear = [2, 11], count = 10 }\n", 2,
          "20000");
  refused(
      "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\nvalidation = 0.1\n[search]\n"
      "seeds = \"7-11\"\noptimizer.learning_rate = { log = [0.01, 1], count = 2000 }\n",
      5, "12000");
  refused(
      "seeds = [1, 2]\n[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\nvalidation = 0.1\n"
      "[search]\nseeds = [7]\n[[algorithms]]\nkind = \"ad-psgd\"\n"
      "search = { optimizer.learning_rate = { log = [0.01, 1], count = 4000 } }\n",
      10, "12000");
}

namespace {

const std::string kDrawn =
    "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\nvalidation = 0.1\n[search]\nseeds = [7]\n";

/// The learning rates that the algorithm tries, in the order drawn.
std::vector<double> rates_of(const Plan& plan, const std::string& algorithm) {
  std::vector<double> rates;
  for (const PlannedRun& run : plan.runs)
    if (run.algorithm == algorithm) rates.push_back(run.settings["optimizer"]["learning_rate"]);
  return rates;
}

}  // namespace

TEST_CASE("a search draws points that are the same everywhere and for all algorithms") {
  const std::string both =
      "[[algorithms]]\nkind = \"ad-psgd\"\n[[algorithms]]\nkind = \"a2cid2\"\n";
  const std::string rates = "optimizer.learning_rate = { log = [1e-3, 1] }\ndraws = 5\n";
  const Plan plan = compiled(kDrawn + rates + both);
  CHECK(plan.search->values == 5);
  CHECK(plan.search->draw_seed == 0);
  CHECK(to_json(plan)["search"]["draw_seed"] == 0);
  // What is drawn is part of the ids of runs, so no machine and no version may draw otherwise.
  const std::vector<double> expected{0.024719, 0.00867273, 0.00155721, 0.00658147, 0.00266641};
  CHECK(rates_of(plan, "ad-psgd") == expected);
  CHECK(rates_of(plan, "a2cid2") == expected);
  // More draws begin with the fewer; a key of one's own changes nothing at the shared ones.
  const auto more = rates_of(compiled(kDrawn + rates + both, {"search.draws=8"}), "ad-psgd");
  REQUIRE(more.size() == 8);
  CHECK(std::vector<double>(more.begin(), more.begin() + 5) == expected);
  const Plan own = compiled(kDrawn + rates + both +
                            "search = { optimizer.learning_rate = { log = [1e-3, 1] }, "
                            "communication_rate = [0.5, 1.0, 2.0] }\n");
  CHECK(rates_of(own, "a2cid2") == expected);
  CHECK(rates_of(compiled(kDrawn + rates, {"search.draw_seed=1"}), "ad-psgd") != expected);
}

TEST_CASE("draws lie within their range, evenly by logarithm or by value, and take all of a list",
          "[release]") {
  const Plan plan = compiled(kDrawn +
                             "draws = 400\noptimizer.learning_rate = { log = [1e-3, 1] }\n"
                             "optimizer.momentum = { linear = [0.2, 0.8] }\n"
                             "task.batch_size = [4, 8]\n");
  REQUIRE(plan.runs.size() == 400);
  double logarithms = 0, momenta = 0, small = 0;
  for (const PlannedRun& run : plan.runs) {
    const double rate = run.settings["optimizer"]["learning_rate"];
    const double momentum = run.settings["optimizer"]["momentum"];
    CHECK((rate >= 1e-3 && rate <= 1 && momentum >= 0.2 && momentum <= 0.8));
    logarithms += std::log10(rate) / 400;
    momenta += momentum / 400;
    small += run.settings["task"]["batch_size"] == 4 ? 1.0 / 400 : 0;
  }
  // Five standard deviations of the mean.
  CHECK(std::abs(logarithms + 1.5) < 5 * 3 / std::sqrt(12 * 400.0));
  CHECK(std::abs(momenta - 0.5) < 5 * 0.6 / std::sqrt(12 * 400.0));
  CHECK(std::abs(small - 0.5) < 5 * 0.5 / std::sqrt(400.0));
}

TEST_CASE("no point is drawn twice, and more than there are is an error") {
  const std::string six = "optimizer.momentum = [0.0, 0.5]\ntask.batch_size = [4, 8, 16]\n";
  CHECK(compiled(kDrawn + six + "draws = 6\n").runs.size() == 6);
  CHECK_THAT(only_error_of(kDrawn + six + "draws = 7\n").message,
             ContainsSubstring("draws 7, and found only 6 that differ"));
}

TEST_CASE("draws that mean nothing are errors, or warnings, at their place") {
  const auto refusal = [](const std::string& search) { return first_error_of(kDrawn + search); };
  const std::string rates = "optimizer.learning_rate = { log = [1e-3, 1] }\n";
  CHECK_THAT(refusal(rates), ContainsSubstring("does not say how many numbers"));
  CHECK_THAT(refusal(rates + "draws = 0\n"), ContainsSubstring("must be at least 1"));
  CHECK_THAT(refusal(rates + "draws = 2.5\n"), ContainsSubstring("must be a whole number"));
  CHECK_THAT(refusal(rates + "draws = 2\ndraw_seed = -1\n"), ContainsSubstring("at least 0"));
  CHECK_THAT(refusal("task.batch_size = { linear = [4, 9] }\ndraws = 3\n"),
             ContainsSubstring("must be a whole number"));
  CHECK(compiled(kDrawn + "task.batch_size = { linear = [4, 9], whole = true }\ndraws = 3\n")
            .runs.size() == 3);
  CHECK_THAT(refusal("draws = 3\n"), ContainsSubstring("no values to try"));
  const std::string idle = "optimizer.learning_rate = [0.1, 0.2]\ndraw_seed = 4\n";
  CHECK_THAT(only_warning_of(kDrawn + idle).message, ContainsSubstring("draw_seed has no effect"));
}

}  // namespace acid::test
