// The further axis of `acid predict --over`.
#include "recipes/over.hpp"

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

using namespace acid;
using test::completed;

TEST_CASE("an axis has equal ratios, equal steps or the values that are listed") {
  const OverAxis axis = over_axis("network.bandwidth=1e8..1e11", false);
  CHECK(axis.key == "execution.virtual.network.bandwidth_bytes_per_second");
  REQUIRE(axis.values.size() == 20);
  CHECK(axis.values.front() == 1e8);
  CHECK(axis.values[1] == 1.438e8);
  CHECK(axis.values.back() == 1e11);
  CHECK(over_axis("compute.sigma=0..1:3", true).values == std::vector<double>{0, 0.5, 1});
  const OverAxis workers = over_axis("workers.count=4..6:20", true);
  CHECK(workers.values == std::vector<double>{4, 5, 6});
  CHECK(workers.at(0).value.scalar == 4);
  CHECK(over_axis("network.vector_bytes= 10 MB, 1 GB", false).values ==
        std::vector<double>{1e7, 1e9});
  CHECK(over_axis("network.vector_bytes=\"1 MB\",\"10 MB\"", false).values ==
        std::vector<double>{1e6, 1e7});
  CHECK(over_axis("network.bandwidth=1e9,25 Gbit/s", false).values ==
        std::vector<double>{1e9, 3.125e9});
  CHECK(over_axis("network.latency=1 ms..9 ms:2", false).values == std::vector<double>{1e-3, 9e-3});
  for (const char* const wrong :
       {"network.bandwidth=1 Gbps,2 Gbps", "network.bandwidth=1..2:3 B/s"})
    CHECK_THROWS_WITH(over_axis(wrong, false), ContainsSubstring("is no number"));
  CHECK_THROWS_WITH(over_axis("network.bandwidth=1 Gbps,2 Gbps", false),
                    ContainsSubstring("nor one with B/s, kB/s") && ContainsSubstring("Gbit/s;"));
  // The ends stay the ends, and what lies between them is told apart.
  const OverAxis narrow = over_axis("workers.count=10001..10009:3", true);
  CHECK(narrow.values == std::vector<double>{10001, 10005, 10009});
  const OverAxis close = over_axis("network.bandwidth=1.00004e9..1.0001e9", false);
  CHECK(close.values.size() == 20);
  CHECK(close.values.front() == 1.00004e9);
  for (const double bytes : over_axis("network.vector_bytes=10 MB..1 GB", false).values)
    CHECK(std::fmod(bytes, 4) == 0);
  CHECK(over_axis("algorithms.1.communication_rate=1..2", false).key ==
        "algorithms.1.communication_rate");
  CHECK(over_axis("slow_workers.0=1..10", false).key == "execution.virtual.slow_workers.0");
  CHECK(over_axis("cost.exchange=1e-3..1", false).key == "execution.virtual.cost.exchange_seconds");
}

TEST_CASE("a range has two dots, and is told how it is written") {
  for (const char* const values : {"1e5...1e8", "1e5....1e8"}) {
    INFO(values);
    CHECK_THROWS_WITH(
        over_axis("network.bandwidth=" + std::string(values), false),
        ContainsSubstring("has more than two dots") && ContainsSubstring("write 1e5..1e8"));
  }
}

TEST_CASE("an axis is a further key of the sweep, with the cells that run at its values") {
  const std::string recipe = completed(
      "seeds = [3, 4]\n[sweep]\n\"topology.kind\" = [\"ring\", \"complete\"]\n[[algorithms]]\nkind "
      "= "
      "\"ar-sgd\"\n[[algorithms]]\nkind = \"ad-psgd\"\n");
  const OverAxis axis = over_axis("network.latency=0.1,0.2,0.3", false);
  const Plan plan = compile_recipe("x.toml", recipe, {}, &axis);
  CHECK(plan.seeds == std::vector<std::uint64_t>{3, 4});
  REQUIRE(plan.cells.size() == 12);
  CHECK(plan.cells[0].value == 0);
  CHECK(plan.cells[2].value == 1);
  CHECK(plan.cells[7].settings == nlohmann::json{{"topology.kind", "complete"}});
  CHECK(plan.cells[7].algorithm == 1);
  // AR-SGD reads no graph: its cells share runs, of the first seed alone.
  CHECK(plan.cells[0].group == plan.cells[6].group);
  CHECK(plan.runs.size() == 9);
  CHECK(plan.runs[0].settings["execution"]["virtual"]["network"]["latency_seconds"] == 0.1);
  // Without it, runs are what they were.
  const Plan plain = compile_recipe("x.toml", recipe);
  CHECK(plain.runs.size() == 6);
  CHECK(plain.cells.size() == 4);
}

TEST_CASE("values of an axis at which an algorithm cannot run are left out") {
  const std::string recipe =
      completed("[topology]\nkind = \"hypercube\"\n[[algorithms]]\nkind = \"ad-psgd\"\n");
  const OverAxis axis = over_axis("workers.count=4,6,8", false);
  const Plan plan = compile_recipe("x.toml", recipe, {}, &axis);
  CHECK(plan.cells.size() == 2);
  REQUIRE(plan.left_out.size() == 1);
  CHECK(plan.left_out[0].settings["workers.count"] == 6);
  const OverAxis none = over_axis("workers.count=5,6", false);
  CHECK_THROWS_AS(compile_recipe("x.toml", recipe, {}, &none), RecipeError);
}

TEST_CASE("an algorithm that sets a swept key is one cell, at its own value") {
  const Plan plan = test::compiled(
      "[sweep]\nworkers.count = [4, 6]\n[[algorithms]]\nkind = \"ar-sgd\"\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\nset = { workers.count = 8 }\n");
  REQUIRE(plan.cells.size() == 3);
  std::vector<int> counts;
  for (const PlannedCell& cell : plan.cells) counts.push_back(cell.settings["workers.count"]);
  CHECK(counts == std::vector{4, 8, 6});
}

TEST_CASE("a key that --over takes is meant by its short name elsewhere, too") {
  CHECK(whole_key("network.bandwidth") == "execution.virtual.network.bandwidth_bytes_per_second");
  CHECK(whole_key("compute.sigma") == "execution.virtual.compute.sigma");
  CHECK_FALSE(whole_key("network.bandwith"));
  CHECK_FALSE(whole_key("networks"));
}
