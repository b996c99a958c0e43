#include "recipes/saturation.hpp"

#include "engine/base/fields.hpp"
#include "engine/methods/method.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

const std::string kQuadratic = "[task]\ndataset = { kind = \"quadratic\", dimension = 1000 }\n";
const std::string kDelay = "[execution.virtual.network]\nlatency_seconds = 0.1\n";

std::string saturated(const char* algorithm, const std::string& rest = "") {
  return kQuadratic + rest + "[[algorithms]]\nkind = \"" + algorithm +
         "\"\ncommunication_rate = \"saturate\"\n";
}

/// Workers that meet on this graph, with a model of one parameter.
Saturation saturated_on(const Topology& graph, const VirtualOptions& model) {
  const AlgorithmEntry& entry = *find_algorithm("ad-psgd");
  RunSpec spec;
  spec.workers = graph.workers();
  spec.topology = &graph;
  spec.method = method_of(entry, with_fallbacks(entry.fields, nlohmann::json::object()), nullptr);
  return saturation(spec, 1, model);
}

}  // namespace

TEST_CASE("exchanges that saturate the network are as many as fit, less what they wait") {
  const Topology pair = Topology::complete(2);
  VirtualOptions model;
  model.network.link.latency_seconds = 0.25;
  const Saturation found = saturated_on(pair, model);
  CHECK(found.rate == Approx(4).epsilon(0.01));
  REQUIRE(found.edges.size() == 1);
  CHECK(found.edges[0].weight == Approx(4).epsilon(0.01));
  model.compute.slow_factors = {1, 3};  // a unit is 1.5 s
  CHECK(saturated_on(pair, model).rate == Approx(6).epsilon(0.01));
  model.compute.slow_factors = {};
  model.cost.exchange_seconds = 0.25;  // 0.5 s each, of which 0.25 s lengthen the gradients
  const double rate = saturated_on(pair, model).rate;
  CHECK(rate > 1.5);
  CHECK(rate < 3);
}

TEST_CASE("what saturates may be a node's card") {
  // Of 4 workers on 2 nodes, all pairs cross: two exchanges at a time share both cards.
  const Topology square("square", 4, {{0, 2, 1}, {0, 3, 1}, {1, 2, 1}, {1, 3, 1}});
  VirtualOptions model;
  model.network.link = {0, 16};
  const double alone = saturated_on(square, model).rate;
  CHECK(alone == Approx(4).epsilon(0.01));
  model.network.workers_per_node = {2};
  model.network.settle(4);
  CHECK(saturated_on(square, model).rate == Approx(2).epsilon(0.01));
}

TEST_CASE("the expected rate and its numbers are in the settings, the same for every seed") {
  const Plan plan = compiled("seeds = [1, 2]\n" + saturated("a2cid2", kDelay));
  const nlohmann::json& algorithm = plan.runs.at(0).settings["algorithm"];
  CHECK(algorithm["saturate"] == true);
  CHECK(algorithm["communication_rate"] == Approx(10).epsilon(0.2));
  CHECK(algorithm["eta"] == Approx(0.5 / std::sqrt(*plan.runs[0].chi1 * *plan.runs[0].chi2)));
  CHECK(plan.runs[0].group == plan.runs.at(1).group);
  CHECK(plan.runs[0].settings["algorithm"] == plan.runs[1].settings["algorithm"]);
  CHECK(plan.warnings.empty());
  CHECK(digest(saturated("ad-psgd", kDelay)) != digest(kQuadratic + kDelay));
  // A number is what it was, with the same digest as before there was a choice.
  CHECK_FALSE(compiled(kQuadratic + kDelay).runs[0].settings["algorithm"].contains("saturate"));
}

TEST_CASE("saturating is refused where it has no meaning or no way, with what to do") {
  const auto error = [](const std::string& recipe) {
    const Diagnostic found = only_error_of(recipe);
    CHECK(found.line > 0);
    return found;
  };
  CHECK_THAT(error(saturated("ad-psgd")).message,
             ContainsSubstring("where exchanges take no time"));
  CHECK_THAT(error(saturated("ad-psgd")).remedy, ContainsSubstring("exchange_seconds"));
  CHECK_THAT(error(saturated("ad-psgd",
                             "[execution.virtual.network]\nedges = [{ edge = [0, 1], "
                             "latency_seconds = 1 }]\n"))
                 .message,
             ContainsSubstring("where exchanges take no time"));
  CHECK_THAT(error(saturated("ad-psgd", kDelay + "workers_per_node = 2\n")).remedy,
             ContainsSubstring("inside nodes"));
  for (const int workers : {2, 3}) {  // of three, two pairs exchange at once
    INFO(workers);
    const std::string ring = fmt::format(
        "[workers]\ncount = {}\n[topology]\nkind = \"ring\"\n[execution.virtual.network]\n"
        "edges = [{{ edge = [0, 1], latency_seconds = 1 }}]\n",
        workers);
    CHECK(errors_of(completed(saturated("ad-psgd", ring))).empty() == (workers == 2));
  }
  for (const char* driver : {"threads", "mpi"})
    CHECK_THAT(
        error(saturated("ad-psgd", fmt::format("[execution]\ndriver = \"{}\"\n", driver))).message,
        ContainsSubstring("needs simulated time"));
  CHECK_THAT(error(saturated("a2cid2", kDelay) + "spectral = \"realised\"\n").message,
             ContainsSubstring("spectral = \"realised\""));
  CHECK_THAT(
      error(saturated("ad-psgd", "[execution.virtual.network]\nlatency_seconds = 1e-7\n")).message,
      ContainsSubstring("exchanges per gradient"));
  for (const char* link :
       {"latency_seconds = 1e-17", "latency_seconds = 1e-60", "bandwidth_bytes_per_second = 1e22",
        "bandwidth_bytes_per_second = 1e300", "latency_seconds = 1e-13"}) {
    INFO(link);
    CHECK_THAT(
        error(saturated("ad-psgd", fmt::format("[execution.virtual.network]\n{}\n", link))).message,
        ContainsSubstring("would be at least"));
  }
  CHECK_THAT(
      error(kQuadratic + "[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = \"max\"\n")
          .message,
      ContainsSubstring("communication_rate"));
  CHECK(compiled(saturated("ad-psgd", "[workers]\ncount = 1\n")).runs.size() == 1);
}

}  // namespace acid::test
