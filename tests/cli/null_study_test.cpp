// Whole studies with a search, of two algorithms that are in fact one: compiled, trained, selected
// and judged as `acid run` does it, in this process.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "engine/drivers/virtual/virtual_time.hpp"
#include "recipes/plan.hpp"
#include "reports/compare.hpp"
#include "reports/verdict.hpp"
#include "tests/catch.hpp"
#include "worker/compose.hpp"

namespace acid::test {
namespace {

constexpr const char* kStudy = R"(
[task]
dataset = {{ kind = "quadratic", dimension = 8, noise = 1.0 }}
[optimizer]
momentum = 0.0
[workers]
count = 2
[budget]
gradients = 60
[evaluation]
workers = "never"
[search]
optimizer.learning_rate = [0.06, 0.08, 0.1, 0.12]
seeds = [{0}1, {0}2]
[[algorithms]]
kind = "ad-psgd"
)";
constexpr int kFinalSeeds = 6;
constexpr std::uint64_t kSeedsOfOne = 1000;

class LastLoss final : public Recorder {
 public:
  void sample(const Position&, std::span<const Value> values) override {
    for (const Value& value : values)
      if (value.metric == "eval_loss") last = value.value;
  }
  void progress(const Position&) override {}
  void note(Severity, std::string_view) override {}
  void events(int, std::int64_t, std::span<const Event>) override {}
  double last = NAN;
};

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
    const auto composed = compose(settings_from(run.settings), 1);
    LastLoss recorder;
    run_virtual({composed->spec, *composed->objective, recorder}, composed->options.virtual_time);
    ComparedRun result;
    result.settings = run.settings;
    result.summary.id = run.id;
    result.summary.algorithm = result.summary.label = label;
    result.summary.group = group(run.group);
    result.summary.seed = run.seed - first_seed;
    result.summary.state = RunState::finished;
    result.summary.metrics["eval_loss"] = recorder.last;
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
  const Judgement judgement = judge(*difference);
  Verdict verdict;
  verdict.claimed = judgement == Judgement::better || judgement == Judgement::worse;
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
