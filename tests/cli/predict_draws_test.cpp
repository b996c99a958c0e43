// `acid predict`: draws, their intervals, and parts of runs that are continued.
#include <fmt/format.h>

#include "cli/predict/prediction.hpp"
#include "settings/run_spec.hpp"
#include "tests/catch.hpp"
#include "tests/cli/predictions.hpp"

using acid::Range;
using acid::test::Folder;
using acid::test::kTask;
using acid::test::prediction;
using Words = std::vector<std::string>;

TEST_CASE("a continued prediction goes on in every draw, and counts what happens once as that") {
  const Folder folder;
  folder.write("poisson.toml", kTask + std::string(R"(
workers.count = 8
topology.kind = "ring"
budget.gradients = 1600
algorithms = ["ad-psgd"]
[execution.virtual]
gradient_clock = "poisson"
network.latency_seconds = 0.01
)"));
  const auto draws =
      prediction(folder.told({"predict", "poisson.toml", "--iterations", "20"}), "ad-psgd");
  for (const double seconds : draws["seconds_of_draws"]) {
    CHECK(seconds > 100);  // 200 iterations of a second
    CHECK(seconds < 400);
  }
  folder.write("paused.toml", kTask + std::string(R"(
workers.count = 8
budget.gradients = 1600
algorithms = ["ar-sgd"]
[[execution.virtual.pauses]]
worker = 0
at_seconds = 1.0
for_seconds = 100.0
)"));
  const auto idle = [&](Words more) {
    more.insert(more.begin(), {"predict", "paused.toml"});
    return prediction(folder.told(more), "ar-sgd")["idle_share"].get<double>();
  };
  CHECK(idle({}) == Approx(7 * 100.0 / (8 * 300)));
  CHECK(idle({"--iterations", "20"}) == Approx(idle({})));
}

namespace {

/// Of so many trials, those in which one further run takes what ten draws of its first `iterations`
/// promise.
int kept_promises(const std::string& recipe, int trials, double iterations) {
  const acid::Plan plan = acid::compile_recipe("x.toml", std::string(kTask) + recipe);
  acid::RunSettings settings = acid::settings_from(plan.runs.at(0).settings);
  const acid::Topology graph = topology_of(settings);
  acid::RunSpec spec = spec_from(settings, graph);
  const auto timing = [&](int seed, double some) {
    spec.seeds = acid::Seeds(static_cast<std::uint64_t>(seed));
    return timing_of(spec, settings.execution.simulation, 16, some);
  };
  constexpr int kDraws = 10;
  int inside = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const int first = trial * (kDraws + 1);
    std::vector<double> parts;
    double share = 1;
    for (int draw = 0; draw < kDraws; ++draw) {
      const acid::Timing part = timing(first + draw, iterations);
      parts.push_back(part.seconds);
      share = part.run_share;
    }
    const Range range = acid::range_of(parts, {.run_share = share});
    const double seconds = timing(first + kDraws, 1e9).seconds;
    inside += seconds >= range.low && seconds <= range.high ? 1 : 0;
  }
  return inside;
}

}  // namespace

TEST_CASE("nine of ten whole runs lie in the interval that draws, or parts of them, give") {
  for (const char* method : {"ar-sgd", "d-psgd", "ad-psgd"}) {
    INFO(method);
    constexpr int kTrials = 200;
    const int inside = kept_promises(fmt::format("algorithms = [\"{}\"]\n", method) + R"(
workers.count = 4
topology.kind = "ring"
budget.gradients = 1600
[execution.virtual]
compute = { kind = "lognormal", sigma = 0.4 }
network = { latency_seconds = 0.05, bandwidth_bytes_per_second = 1e3 }
)",
                                     kTrials, 40);
    CHECK(inside > 0.835 * kTrials);  // three standard errors
    CHECK(inside < 0.965 * kTrials);
  }
  constexpr int kTrials = 400;
  const int inside = kept_promises(R"(
workers.count = 4
budget.gradients = 80
algorithms = ["ar-sgd"]
[execution.virtual]
compute = { kind = "lognormal", sigma = 0.4 }
network.latency_seconds = 0.05
)",
                                   kTrials, 1e9);
  CHECK(inside > 0.855 * kTrials);  // three standard errors
  CHECK(inside < 0.945 * kTrials);
}

TEST_CASE("the interval of a continued prediction keeps the machine's variation") {
  const Folder folder;
  folder.write("varied.toml", std::string(kTask) + R"(algorithms = ["ar-sgd"]
workers.count = 4
budget.gradients = 8000
execution.virtual.variation = 0.1)");
  const auto told = folder.told({"predict", "varied.toml", "--iterations", "50"});
  const auto seconds = prediction(told, "ar-sgd")["iteration_seconds"];
  const double half = (seconds["high"].get<double>() - seconds["low"].get<double>()) / 2;
  CHECK(half / seconds["mean"].get<double>() == Approx(0.183).epsilon(0.02));  // t(0.95, 9) = 1.83
}

TEST_CASE("a budget is continued from enough exchanges, where a network carries few of them") {
  const Folder folder;
  folder.write("few.toml", std::string(kTask) + R"(
workers.count = 8
topology.kind = "star"
algorithms = [{ kind = "ad-psgd", communication_rate = "saturate" }]
[execution.virtual]
random_slowdown = { probability = 0.2, factor = 5.0 }
network = { latency_seconds = 0.01, bandwidth_bytes_per_second = 1000.0, vector_bytes = "64 KiB" }
)");
  const auto bytes_each = [&](double gradients) {
    const auto told = prediction(folder.told({"predict", "few.toml", "--draws", "6", "--set",
                                              fmt::format("budget.gradients={}", gradients)}),
                                 "ad-psgd");
    CHECK((told["simulated_iterations"] < told["budget_iterations"]) == (gradients > 330'000));
    return told["bytes"].get<double>() / gradients;
  };
  CHECK(bytes_each(400'000) == Approx(bytes_each(200'000)).epsilon(0.03));
}
