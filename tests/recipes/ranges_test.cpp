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
    INFO(range);
    CHECK_THAT(only_error_of("[sweep]\noptimizer.learning_rate = " + range + "\n", 2).message,
               ContainsSubstring(message));
  };
  refused("{ log = [1e-3, 1] }", "does not say how many numbers");
  refused("{ log = [0, 1], count = 3 }", "begins at 0, which is not above 0");
  refused("{ log = [-1.0, 1], count = 3 }", "begins at -1, which is not above 0");
  refused("{ linear = [1, 0], count = 3 }", "begins at 1 and ends at 0");
  refused("{ linear = [1, 1.0], count = 3 }", "begins at 1 and ends at 1");
  refused("{ linear = [1], count = 3 }", "needs two ends, not 1");
  refused("{ linear = [1, 2, 3], count = 3 }", "needs two ends, not 3");
  refused("{ linear = 1, count = 3 }", "must be a list of numbers, not the whole number 1");
  refused("{ linear = [\"0\", 1], count = 3 }", "must be a number, not the text");
  refused("{ linear = [0, inf], count = 3 }", "must be finite, not inf");
  refused("{ linear = [0, 1], count = 1 }", "must be at least 2");
  refused("{ linear = [0, 1], count = 2.5 }", "must be a whole number");
  refused("{ linear = [0, 1], count = 1000000000000 }", "at most 100000");
  refused("{ linear = [0, 1], cuont = 3 }", "unknown key 'cuont'");
  refused("{ linear = [0, 1], log = [1, 2], count = 3 }", "has equal ratios and equal steps");
  refused("{ linear = [0, 1.5], count = 2, whole = true }", "has whole numbers, and an end at 1.5");
  refused("{ linear = [0, 1], count = 3, whole = true }", "has no 3 different whole numbers");
  refused("{ log = [1.0, 1.000001], count = 9 }", "has no 9 different numbers of six digits");
  const Diagnostic fraction =
      only_error_of("[sweep]\nworkers.count = { linear = [2, 5], count = 3 }\n", 2);
  CHECK_THAT(fraction.message, ContainsSubstring("must be a whole number, not the number 3.5"));
}

}  // namespace acid::test
