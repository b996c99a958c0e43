// Methods whose workers' mean is the same in exact arithmetic if all curvatures are equal: they
// differ in rounding only, and no comparison may call one of them better.
#include <fmt/format.h>

#include <cmath>

#include "engine/drivers/virtual/virtual_time.hpp"
#include "recipes/plan.hpp"
#include "reports/compare.hpp"
#include "reports/equivalence.hpp"
#include "tests/catch.hpp"
#include "worker/compose.hpp"

namespace acid::test {
namespace {

constexpr const char* kEqualMeans = R"(
seeds = [{seeds}]
[task]
dataset = {{ kind = "quadratic", dimension = 8, noise = {noise}, heterogeneity = 1.0 }}
[optimizer]
learning_rate = {rate}
[workers]
count = {workers}
[topology]
kind = "{graph}"
[budget]
normalised_time = {steps}
[evaluation]
workers = "never"
every_time = {steps}
[[algorithms]]
kind = "ar-sgd"
[[algorithms]]
kind = "d-psgd"
[[algorithms]]
kind = "d-psgd"
label = "D-PSGD, adapt then combine"
order = "adapt-then-combine"
[[algorithms]]
kind = "local-sgd"
[[algorithms]]
kind = "exact-diffusion"
[[algorithms]]
kind = "extra"
[[algorithms]]
kind = "gradient-tracking"
)";

class Losses final : public Recorder {
 public:
  void sample(const Position&, std::span<const Value> values) override {
    for (const Value& value : values)
      if (value.metric == "eval_loss") {
        if (std::isnan(first)) first = value.value;
        last = value.value;
      }
  }
  void progress(const Position& position) override { reached = position; }
  void note(Severity, std::string_view) override {}
  void events(int, std::int64_t, std::span<const Event>) override {}
  double first = NAN, last = NAN;
  Position reached;
};

ComparedRun executed(const PlannedRun& run) {
  const auto composed = compose(settings_from(run.settings), 1);
  Losses losses;
  run_virtual({composed->spec, *composed->objective, losses}, composed->options.virtual_time);
  ComparedRun result;
  result.settings = run.settings;
  result.summary.id = run.id;
  result.summary.algorithm = run.algorithm;
  result.summary.label = run.label;
  result.summary.group = run.group;
  result.summary.seed = run.seed;
  result.summary.workers = run.workers;
  result.summary.progress.gradients = run.budget_gradients;
  result.summary.state = RunState::finished;
  result.summary.metrics["eval_loss"] = losses.last;
  result.rounding.starts["eval_loss"] = losses.first;
  return result;
}

struct Graph {
  const char* kind;
  int workers;
};
constexpr std::array kGraphs{Graph{"ring", 8}, Graph{"hypercube", 8}, Graph{"complete", 6},
                             Graph{"star", 5}, Graph{"torus", 9}};

struct Counts {
  int comparisons = 0, claimed = 0, equal = 0;
  double largest = 0, least_floor = INFINITY, largest_floor = 0;  // relative
};

void look_at(const Comparison& comparison, Counts& counts) {
  for (const ComparedDifference& one : comparison.differences) {
    if (one.metric != "eval_loss") continue;
    ++counts.comparisons;
    const Judgement judgement = judge(one);
    counts.claimed += judgement == Judgement::better || judgement == Judgement::worse ? 1 : 0;
    counts.equal += judgement == Judgement::equal ? 1 : 0;
    const ComparedGroup& baseline = group_of(comparison, one.baseline);
    for (const RunSummary& run : group_of(comparison, one.group).runs)
      for (const RunSummary& other : baseline.runs)
        if (run.seed == other.seed)
          counts.largest =
              std::max(counts.largest,
                       std::abs(run.metrics.at("eval_loss") / other.metrics.at("eval_loss") - 1));
    counts.least_floor = std::min(counts.least_floor, one.rounding_share);
    counts.largest_floor = std::max(counts.largest_floor, one.rounding_share);
  }
}

Counts studied(const char* noise, int steps, std::initializer_list<const char*> seeds) {
  Counts counts;
  for (const char* set : seeds)
    for (const Graph& graph : kGraphs)
      for (const char* rate : {"0.02", "0.05", "0.2"}) {
        const Plan plan = compile_recipe(
            "equal.toml",
            fmt::format(fmt::runtime(kEqualMeans), fmt::arg("seeds", set), fmt::arg("noise", noise),
                        fmt::arg("rate", rate), fmt::arg("workers", graph.workers),
                        fmt::arg("graph", graph.kind), fmt::arg("steps", steps)));
        std::vector<ComparedRun> runs;
        for (const PlannedRun& run : plan.runs) runs.push_back(executed(run));
        look_at(compare_runs(runs), counts);
      }
  return counts;
}

constexpr const char* kSeeds = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10";
constexpr const char* kOtherSeeds = "101, 102, 103, 104, 105, 106, 107, 108, 109, 110";

void report(const Counts& counts, int steps) {
  WARN(
      fmt::format("{} steps: {} comparisons, {} better or worse, {} equal; the largest relative "
                  "difference {:.1e}, floors from {:.1e} to {:.1e}",
                  steps, counts.comparisons, counts.claimed, counts.equal, counts.largest,
                  counts.least_floor, counts.largest_floor));
}

}  // namespace

TEST_CASE("of methods with equal means none is called better or worse", "[release]") {
  const Counts counts = studied("1.0", 300, {kSeeds, kOtherSeeds});
  report(counts, 300);
  CHECK(counts.comparisons == 2 * 5 * 3 * 6);
  CHECK(counts.claimed == 0);
  CHECK(counts.equal == counts.comparisons);
  CHECK(counts.largest > 0);  // there is rounding
}

TEST_CASE("nor after thousands of steps, nor at the optimum itself", "[release]") {
  const Counts noisy = studied("1.0", 4000, {kSeeds});
  report(noisy, 4000);
  CHECK(noisy.claimed == 0);
  const Counts exact = studied("0.0", 1000, {kSeeds});
  report(exact, 1000);
  CHECK(exact.claimed == 0);
}

TEST_CASE("a true difference above the floor is told", "[release]") {
  // Local steps with another rate for one worker: its mean differs by a thousandth.
  std::string recipe =
      fmt::format(fmt::runtime(kEqualMeans), fmt::arg("seeds", kSeeds), fmt::arg("noise", "1.0"),
                  fmt::arg("rate", "0.05"), fmt::arg("workers", 8), fmt::arg("graph", "ring"),
                  fmt::arg("steps", 300));
  recipe +=
      "[[algorithms]]\nkind = \"d-psgd\"\nlabel = \"other\"\nset = { optimizer.learning_rate = "
      "0.0502 }\n";
  std::vector<ComparedRun> runs;
  for (const PlannedRun& run : compile_recipe("equal.toml", recipe).runs)
    if (run.algorithm == "ar-sgd" || run.label == "other") runs.push_back(executed(run));
  const Comparison comparison = compare_runs(runs);
  const ComparedDifference* one = nullptr;
  for (const ComparedDifference& each : comparison.differences)
    if (each.metric == "eval_loss") one = &each;
  REQUIRE(one != nullptr);
  CHECK(one->value.unequal == 10);
  INFO("floor " << one->rounding_share);
  CHECK(one->rounding_share < 1e-3);
}

}  // namespace acid::test
