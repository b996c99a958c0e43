// Studies whose answer is known, compiled, trained and judged as `acid run` does it, in this
// process: methods whose workers' mean is the same in exact arithmetic if all curvatures are equal,
// so that no comparison may call one of them better, and searches of two algorithms that are in
// fact one.
#include <fmt/format.h>

#include <cmath>

#include "engine/drivers/virtual/virtual_time.hpp"
#include "recipes/plan.hpp"
#include "reports/compare.hpp"
#include "reports/equivalence.hpp"
#include "reports/verdict.hpp"
#include "tests/catch.hpp"
#include "worker/compose.hpp"

namespace acid::test {
namespace {

class Losses final : public Recorder {
 public:
  void sample(const Position&, std::span<const Value> values) override {
    for (const Value& value : values)
      if (value.metric == "eval_loss") {
        if (std::isnan(first)) first = value.value;
        last = value.value;
      }
  }
  void progress(const Position&) override {}
  void note(Severity, std::string_view) override {}
  void events(int, std::int64_t, std::span<const Event>) override {}
  double first = NAN, last = NAN;
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

bool claims(const ComparedDifference& difference) {
  const Judgement judgement = judge(difference);
  return judgement == Judgement::better || judgement == Judgement::worse;
}

constexpr const char* kEqualMeans = R"(
seeds = [{seeds}]
task.dataset = {{ kind = "quadratic", dimension = 8, noise = {noise}, heterogeneity = 1.0 }}
optimizer.learning_rate = {rate}
workers.count = {workers}
topology.kind = "{graph}"
budget.normalised_time = {steps}
evaluation = {{ workers = "never", every_time = {steps} }}
algorithms = ["ar-sgd", "d-psgd",
  {{ kind = "d-psgd", label = "D-PSGD, adapt then combine", order = "adapt-then-combine" }},
  "local-sgd", "exact-diffusion", "extra", "gradient-tracking"{more}]
)";

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
    counts.claimed += claims(one) ? 1 : 0;
    counts.equal += judge(one) == Judgement::equal ? 1 : 0;
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

Plan equal_means(const char* seeds, const char* noise, const char* rate, const Graph& graph,
                 int steps, const char* more = "") {
  return compile_recipe(
      "equal.toml",
      fmt::format(fmt::runtime(kEqualMeans), fmt::arg("seeds", seeds), fmt::arg("noise", noise),
                  fmt::arg("rate", rate), fmt::arg("workers", graph.workers),
                  fmt::arg("graph", graph.kind), fmt::arg("steps", steps), fmt::arg("more", more)));
}

/// Each rate on each graph, or one of them, another on the next graph.
std::vector<const char*> rates_for(const Graph& graph, bool every) {
  const std::vector<const char*> rates{"0.02", "0.05", "0.2"};
  return every ? rates : std::vector{rates[static_cast<std::size_t>(&graph - kGraphs.data()) % 3]};
}

Counts studied(const char* noise, int steps, std::initializer_list<const char*> seeds,
               bool every_rate) {
  Counts counts;
  for (const char* set : seeds)
    for (const Graph& graph : kGraphs)
      for (const char* rate : rates_for(graph, every_rate)) {
        const Plan plan = equal_means(set, noise, rate, graph, steps);
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
  const Counts counts = studied("1.0", 300, {kSeeds, kOtherSeeds}, true);
  report(counts, 300);
  CHECK(counts.comparisons == 2 * 5 * 3 * 6);
  CHECK(counts.claimed == 0);
  CHECK(counts.equal == counts.comparisons);
  CHECK(counts.largest > 0);  // there is rounding
}

TEST_CASE("nor after thousands of steps, nor at the optimum itself", "[release]") {
  const Counts noisy = studied("1.0", 4000, {kSeeds}, false);
  report(noisy, 4000);
  CHECK(noisy.comparisons == 5 * 6);
  CHECK(noisy.claimed == 0);
  const Counts exact = studied("0.0", 1000, {kSeeds}, false);
  report(exact, 1000);
  CHECK(exact.comparisons == 5 * 6);
  CHECK(exact.claimed == 0);
}

TEST_CASE("a true difference above the floor is told", "[release]") {
  // Local steps with another rate for one worker: its mean differs by a thousandth.
  const Plan plan = equal_means(
      kSeeds, "1.0", "0.05", kGraphs[0], 300,
      R"(, { kind = "d-psgd", label = "other", set = { optimizer.learning_rate = 0.0502 } })");
  std::vector<ComparedRun> runs;
  for (const PlannedRun& run : plan.runs)
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

namespace {

constexpr const char* kStudy = R"(
task.dataset = {{ kind = "quadratic", dimension = 8, noise = 1.0 }}
optimizer.momentum = 0.0
workers.count = 2
budget.gradients = 60
evaluation.workers = "never"
algorithms = ["ad-psgd"]
[search]
optimizer.learning_rate = [0.06, 0.08, 0.1, 0.12]
seeds = [{0}1, {0}2]
)";
constexpr int kFinalSeeds = 6;
constexpr std::uint64_t kSeedsOfOne = 1000;

/// One of two algorithms that differ only in their seeds. Once the runs have ended, both get the
/// same seed numbers.
struct Twin {
  std::string label;
  std::uint64_t first_seed;
  Plan plan;

  Twin(std::string name, std::uint64_t first) : label(std::move(name)), first_seed(first) {
    std::string seeds;
    for (int k = 0; k < kFinalSeeds; ++k)
      seeds += fmt::format("{}{}", k == 0 ? "" : ", ", first + 100 + static_cast<std::uint64_t>(k));
    plan = compile_recipe("null.toml", fmt::format("seeds = [{}]", seeds) +
                                           fmt::format(fmt::runtime(kStudy), first / 10));
  }
  std::string group(const std::string& digest) const { return label + digest; }

  ComparedRun executed(const PlannedRun& run) const {
    ComparedRun result = test::executed(run);
    result.summary.algorithm = result.summary.label = label;
    result.summary.group = group(run.group);
    result.summary.seed = run.seed - first_seed;
    return result;
  }
};

struct Verdict {
  bool different = false, claimed = false, refused = false;
};

Verdict null_study(std::uint64_t number) {
  const Twin twins[2] = {{"one", (2 * number + 1) * kSeedsOfOne},
                         {"other", (2 * number + 2) * kSeedsOfOne}};
  std::vector<ComparedRun> tried, compared;
  Cells cells;
  for (const Twin& twin : twins) {
    for (const PlannedRun& run : twin.plan.runs) tried.push_back(twin.executed(run));
    for (const auto& cell : twin.plan.search->cells) {
      cells.emplace_back();
      for (const std::string& digest : cell) cells.back().push_back(twin.group(digest));
    }
  }
  const PlannedSearch& search = *twins[0].plan.search;
  const Selection selection = select(tried, cells, search.keys, search.metric, {});
  for (const Twin& twin : twins)
    for (const PlannedRun& run : twin.plan.search->finals)
      if (selection.choice_of(twin.group(run.group)) != nullptr)
        compared.push_back(twin.executed(run));
  CompareOptions options;
  options.baseline = "one";
  const Comparison comparison = compare_runs(compared, options, {selection});
  REQUIRE(comparison.groups.size() == 2);
  const ComparedDifference* const difference =
      find_difference(comparison, comparison.groups[1].group, "eval_loss");
  REQUIRE(difference != nullptr);
  CHECK(difference->value.pairs == kFinalSeeds);
  Verdict verdict;
  verdict.claimed = claims(*difference);
  verdict.different = selection.choices[0].winner().values != selection.choices[1].winner().values;
  CompareOptions same_seeds;
  same_seeds.best_over = search.keys;
  try {
    compare_runs(tried, same_seeds);
  } catch (const UsageError&) {
    verdict.refused = true;
  }
  return verdict;
}

void check_studies(int studies) {
  int claimed = 0, different = 0, refused = 0;
  for (int study = 0; study < studies; ++study) {
    const Verdict verdict = null_study(static_cast<std::uint64_t>(study));
    claimed += verdict.claimed ? 1 : 0;
    different += verdict.different ? 1 : 0;
    refused += verdict.refused ? 1 : 0;
  }
  const std::string words = fmt::format(
      "{} of {} null studies claim a difference, in {} the rates "
      "chosen differ, {} refused on the same seeds",
      claimed, studies, different, refused);
  INFO(words);
  if (studies >= 500) WARN(words);
  CHECK(claimed <= studies / 20);
  CHECK(different > studies / 2);
  CHECK(refused == studies);
}

}  // namespace

TEST_CASE("few of 60 null studies with a search claim a difference", "[release]") {
  check_studies(60);
}

// Hidden; run it with `test_keys "[stress]"`.
TEST_CASE("at most 5 in 100 of 500 null studies with a search claim a difference", "[.][stress]") {
  check_studies(500);
}

}  // namespace acid::test
