// The metric of a verdict and the baselines of its tests, known before the data.
#include "reports/primary.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "reports/grouping.hpp"
#include "reports/known_metrics.hpp"
#include "reports/pivot.hpp"
#include "reports/verdict.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::has;
using synthetic::noted;
using synthetic::run;
using synthetic::sentences_of;

namespace {

constexpr std::uint64_t kSeeds = 8;

/// Equal losses; AR-SGD always agrees, the second and third method do not, the third twice as much.
std::vector<ComparedRun> equal_losses(const json& settings = {}) {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const double loss = 0.1 * static_cast<double>(seed),
                 luck = 1 + 0.01 * static_cast<double>(seed);
    for (const auto& [algorithm, consensus] :
         {std::pair("ar-sgd", 0.0), std::pair("ad-psgd", 2 * luck), std::pair("a2cid2", luck)})
      runs.push_back(run(algorithm, seed,
                         {{"eval_loss", loss}, {"consensus_distance_mid", consensus}}, settings));
  }
  return runs;
}

const ComparedGroup& labelled(const Comparison& comparison, const std::string& label) {
  return *std::ranges::find(comparison.groups, label, &ComparedGroup::label);
}

}  // namespace

TEST_CASE("equal losses are said to be equal, and consensus distance is no way out") {
  const Comparison comparison = compare_runs(equal_losses());
  CHECK(comparison.primary == "eval_loss");
  CHECK(headline(comparison, comparison.points.front()).result ==
        "All had the same evaluation loss, to rounding.");
  CHECK_FALSE(has(sentences_of(comparison), "worse"));
}

TEST_CASE("seeds of another experiment on which a search chose are noticed") {
  const Comparison comparison = compare_runs(equal_losses());
  const auto compared_on = [&](const std::string& group, std::uint64_t seed) {
    Selection selection;
    selection.seeds = {seed};
    selection.choices.emplace_back().candidates.emplace_back().group = group;
    return compared_on_its_seeds(comparison, selection);
  };
  const std::string& group = labelled(comparison, "ad-psgd").runs_group;
  CHECK(compared_on(group, kSeeds));
  CHECK_FALSE(compared_on(group, kSeeds + 1));
  CHECK_FALSE(compared_on("another", kSeeds));
}

TEST_CASE("consensus distance is tested against the first algorithm of pairwise exchanges") {
  const Comparison comparison = compare_runs(equal_losses());
  for (const ComparedDifference& one : comparison.differences)
    if (one.metric == "consensus_distance_mid") {
      CHECK(group_of(comparison, one.group).label == "a2cid2");
      CHECK(group_of(comparison, one.baseline).label == "ad-psgd");
      CHECK(one.family == 1);
      CHECK(*one.p_holm == Approx(2 / 256.0));
    }
  CHECK(has(sentences_of(comparison),
            "Mid-run, the consensus distance of a2cid2 was 0.5 [0.5, 0.5] × that of ad-psgd "
            "(geometric mean "
            "over 8 paired seeds, 95 % interval; better, exact sign-flip p (Holm over 1 "
            "comparison) = 0.008)."));
  CHECK(noted(comparison, "consensus distances are tested against ad-psgd, the first"));
  CHECK(has(to_markdown(comparison), "| consensus_distance_mid to ad-psgd |"));
  CHECK(has(to_latex(comparison), "Consensus distance, mid-run to ad-psgd"));
  const json document = to_json(comparison);
  for (const json& one : document["differences"])
    if (one["metric"] == "consensus_distance_mid") CHECK(one["verdict"] == "better");

  const Comparison named =
      compare_runs(equal_losses(), {}, {}, {{.primary = "", .consensus_baseline = "a2cid2"}});
  const ComparedDifference* const other =
      find_difference(named, labelled(named, "ad-psgd").group, "consensus_distance_mid");
  REQUIRE(other != nullptr);
  CHECK(group_of(named, other->baseline).label == "a2cid2");
  CHECK(judge(*other) == Judgement::worse);
  CHECK(noted(named, "tested against a2cid2, as the recipe says"));
}

TEST_CASE("nothing is tested against a baseline that agrees by construction") {
  std::vector<ComparedRun> runs = equal_losses();
  std::erase_if(runs, [](const ComparedRun& one) { return one.summary.algorithm == "a2cid2"; });
  for (ComparedRun& one : runs) {
    one.summary.metrics["gradients"] = 800;
    one.summary.metrics["bytes"] =
        one.summary.algorithm == "ar-sgd" ? 1000 : 900 + static_cast<double>(one.summary.seed);
  }
  const Comparison comparison = compare_runs(runs);
  for (const ComparedDifference& one : comparison.differences) {
    CHECK(one.metric != "consensus_distance_mid");
    if (better_direction(one.metric) == 0) CHECK_FALSE(one.value.p);
  }
}

TEST_CASE("the recipe's outcome is the verdict's, whatever differs") {
  std::vector<ComparedRun> runs = equal_losses();
  for (ComparedRun& one : runs)
    one.summary.metrics["train_loss_at_mean"] = one.summary.algorithm == "ar-sgd" ? 1 : 2;
  CHECK(compare_runs(runs).primary == "eval_loss");
  const std::vector<ComparisonPlan> plans{
      {.primary = "train_loss_at_mean", .consensus_baseline = ""}};
  const Comparison comparison = compare_runs(runs, {}, {}, plans);
  CHECK(comparison.primary == "train_loss_at_mean");
  CHECK(has(headline(comparison, comparison.points.front()).result, "Worse than ar-sgd"));
  CHECK(pivot_metrics(comparison, {}) == std::vector<std::string>{"train_loss_at_mean"});

  CompareOptions named;
  named.metrics = {"eval_loss"};
  const Comparison other = compare_runs(runs, named, {}, plans);
  CHECK(other.primary == "eval_loss");
  CHECK(noted(other, "train_loss_at_mean, the primary outcome of the recipe, is not among"));

  const Comparison disagree = compare_runs(runs, {}, {}, {plans.front(), {}});
  CHECK(disagree.primary == "eval_loss");
  CHECK(noted(disagree, "do not agree on the primary outcome"));
}

TEST_CASE("runs that stop at a target are compared by the way to it") {
  const json settings{{"budget", {{"target", {{"metric", "eval_loss"}, {"value", 0.5}}}}}};
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    for (const char* algorithm : {"ar-sgd", "ad-psgd"}) {
      const double luck = 0.001 * static_cast<double>(seed), slow = algorithm[1] == 'd' ? 2 : 1;
      runs.push_back(run(algorithm, seed,
                         {{"eval_loss", 0.5 - slow * luck},
                          {"gradients_to_target", 100 * slow + static_cast<double>(seed)}},
                         settings));
    }
  const Comparison comparison = compare_runs(runs);
  CHECK(comparison.primary == "gradients_to_target");
  CHECK(headline(comparison, comparison.points.front()).result ==
        "Worse than ar-sgd in gradients to eval_loss = 0.5: ad-psgd.");
  CHECK(has(sentences_of(comparison),
            "ad-psgd took more gradients to eval_loss = 0.5 than ar-sgd (worse): 100 "));
  CHECK_FALSE(has(sentences_of(comparison), "To eval_loss = 0.5, difference in gradients"));

  CompareOptions named;
  named.metrics = {"eval_loss"};
  CHECK(compare_runs(runs, named).primary.empty());

  for (ComparedRun& one : runs) one.summary.metrics.erase("gradients_to_target");
  const Comparison missed = compare_runs(runs);
  CHECK(missed.primary == "gradients_to_target");
  CHECK(has(sentences_of(missed), "ad-psgd and ar-sgd missed the target alike"));
  CHECK_FALSE(has(headline(missed, missed.points.front()).result, "the same"));
}

TEST_CASE("what the store has of a comparison is read as acid wrote it, and nothing else") {
  CHECK(comparison_plan_from(json()).primary.empty());
  CHECK(comparison_plan_from({{"primary", "eval_loss"}}).primary == "eval_loss");
  for (const json& altered : {json::array(), json{{"primary", 1}}, json{{"primary", "loss"}}})
    CHECK_THROWS_AS(comparison_plan_from(altered), StoreError);
}
