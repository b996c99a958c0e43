#include "recipes/heavy_tails.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

using namespace acid;

namespace {

constexpr int kDraws = 4000;

ComputeModel model(ComputeKind kind, double parameter = 0, double probability = 0,
                   double factor = 1) {
  return {.kind = kind,
          .parameter = parameter,
          .slow_factors = {},
          .slowdown_probability = probability,
          .slowdown_factor = factor,
          .pauses = {}};
}

/// The median over many runs of the mean of their durations.
template <class Draw>
double median_of_means(Draw draw) {
  std::vector<double> means;
  for (std::uint64_t run = 0; run < 201; ++run) {
    Stream stream(Seeds(7).derived(Purpose::compute_model), run);
    double sum = 0;
    for (int k = 0; k < kDraws; ++k) sum += draw(stream);
    means.push_back(sum / kDraws);
  }
  std::ranges::sort(means);
  return means[means.size() / 2];
}

}  // namespace

TEST_CASE("how much of their mean durations will have is what drawing them shows") {
  for (const double shape : {1.1, 1.2, 1.5, 2.0, 3.0}) {
    INFO("pareto " << shape);
    const double median = median_of_means([&](Stream& stream) {
      return (shape - 1) / shape * std::pow(1 - stream.uniform(), -1 / shape);
    });
    CHECK(expected_mean_share(model(ComputeKind::pareto, shape), kDraws) ==
          Approx(median).margin(0.03));
  }
  for (const double sigma : {0.2, 1.0, 2.0, 3.0}) {
    INFO("lognormal " << sigma);
    const double median = median_of_means(
        [&](Stream& stream) { return std::exp(sigma * stream.normal() - sigma * sigma / 2); });
    CHECK(expected_mean_share(model(ComputeKind::lognormal, sigma), kDraws) ==
          Approx(median).margin(0.03));
  }
  const auto constant = [](double probability, double factor) {
    return model(ComputeKind::constant, 0, probability, factor);
  };
  CHECK(expected_mean_share(constant(0, 1), kDraws) == 1);
  CHECK(expected_mean_share(constant(1e-5, 1e5), kDraws) == Approx(1 / (2 - 1e-5)));
  CHECK(expected_mean_share(constant(0.1, 1e5), kDraws) == 1);
}

TEST_CASE("a plan warns of durations whose mean no run of its length has") {
  const auto warnings = [](const std::string& compute, const std::string& more = "") {
    const Plan plan = test::compiled(
        "[budget]\ngradients = 4000\n[execution.virtual]\ncompute = " + compute + "\n" + more);
    REQUIRE(plan.runs[0].warnings.size() == plan.warnings.size());
    if (!plan.warnings.empty()) CHECK(plan.warnings[0].line == 4);
    return plan.warnings.size();
  };
  CHECK(warnings("{ kind = \"pareto\", shape = 1.1 }") == 1);
  CHECK(warnings("{ kind = \"lognormal\", sigma = 3.0 }") == 1);
  CHECK(warnings("{ kind = \"pareto\", shape = 3.0 }") == 0);
  CHECK(warnings("{ kind = \"lognormal\", sigma = 0.5 }") == 0);
  CHECK(warnings("\"exponential\"") == 0);
}

TEST_CASE("a plan warns of a limit in seconds before the first gradient") {
  const auto warning = [](const std::string& kind, double seconds, const std::string& more = "") {
    const Plan plan =
        test::compiled(fmt::format("[budget]\ngradients = 400\nseconds = {}\n[workers]\ncount = 4\n"
                                   "[topology]\nkind = \"ring\"\n[[algorithms]]\nkind = \"{}\"\n"
                                   "[execution.virtual]\nslow_workers = {{ 0 = 3.0 }}\n",
                                   seconds, kind) +
                       more);
    return plan.warnings.empty() ? std::string() : plan.warnings[0].message;
  };
  CHECK_THAT(warning("ad-psgd", 0.9), ContainsSubstring("the first one takes 1 s"));
  CHECK(warning("ad-psgd", 1.1).empty());
  CHECK_THAT(warning("d-psgd", 2.9), ContainsSubstring("the first round takes at least 3 s"));
  CHECK(warning("d-psgd", 3.1).empty());
  // Of several random durations one is short.
  const std::string random = "compute = \"exponential\"\n";
  CHECK(warning("ad-psgd", 0.5, random).empty());
  CHECK_THAT(warning("d-psgd", 2.9, random), ContainsSubstring("may end without a gradient"));
}
