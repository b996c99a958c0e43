// Targets: which runs reached one, when, and the verdict on it.
#include <algorithm>

#include "reports/compare.hpp"
#include "reports/known_metrics.hpp"
#include "reports/pivot.hpp"
#include "reports/targets.hpp"
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

json stopping_at(const std::string& metric, double value) {
  return {{"budget", {{"target", {{"metric", metric}, {"value", value}}}}}};
}

/// A store of these two algorithms with eight seeds each, compared.
struct Compared : synthetic::Filled {
  explicit Compared(const std::map<std::string, Target>& targets,
                    const std::vector<std::string>& algorithms = {"ar-sgd", "ad-psgd"},
                    const CompareOptions& options = {})
      : Filled({.algorithms = algorithms, .seeds = 8, .targets = targets}),
        comparison(compare(store, ids, options)) {}
  Comparison comparison;
};

}  // namespace

TEST_CASE("the verdict says when a target was reached, and who did not reach it") {
  const json settings = stopping_at("eval_loss", 0.5);
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto way = static_cast<double>(100 + seed);
    runs.push_back(
        run("ar-sgd", seed, {{"gradients_to_target", way}, {"eval_loss", 0.4}}, settings));
    runs.push_back(
        run("ad-psgd", seed, {{"gradients_to_target", way / 2}, {"eval_loss", 0.4}}, settings));
    runs.push_back(seed == 8
                       ? run("a2cid2", seed, {{"eval_loss", 0.6}}, settings)
                       : run("a2cid2", seed, {{"gradients_to_target", 2 * way}, {"eval_loss", 0.4}},
                             settings));
  }
  const Comparison comparison = compare_runs(runs);
  std::string words = sentences_of(comparison);
  CHECK(has(words,
            "eval_loss = 0.5 was reached by ar-sgd in 8 of 8 runs, ad-psgd in 8 "
            "of 8 runs, a2cid2 in 7 of 8 runs"));
  CHECK(
      has(words, "ad-psgd took fewer gradients to eval_loss = 0.5 than ar-sgd (better): −52.25 ["));
  CHECK(has(words, "(Holm over 2 comparisons) = 0.016"));  // the smallest, twice
  CHECK(has(words,
            "a2cid2 took more gradients to eval_loss = 0.5 than ar-sgd (worse): without a "
            "mean, since not every run got there"));

  CompareOptions other;  // the requested one replaces the recipe's
  other.target = Target{"eval_loss", 0.45};
  words = sentences_of(compare_runs(runs, other));
  CHECK(has(words, "gradients to eval_loss = 0.45 than "));
  CHECK_FALSE(has(words, "0.5,"));
}

TEST_CASE("a run that ended before another reached the target is not later than that one") {
  const json settings = stopping_at("eval_loss", 0.5);
  const auto compared = [&](std::int64_t end) {
    std::vector<ComparedRun> runs;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const auto far = static_cast<double>(seed);
      runs.push_back(run("ar-sgd", seed, {{"gradients_to_target", 100 + far}}, settings));
      runs.push_back(run("ad-psgd", seed, {{"eval_loss", 9}}, settings));
      runs.back().summary.progress.gradients = end;
    }
    return compare_runs(runs);
  };
  const Comparison told = compared(108);
  CHECK(judge(told.differences.front()) == Judgement::worse);
  const Comparison open = compared(100);
  CHECK(judge(open.differences.front()) == Judgement::not_shown);
  CHECK(open.differences.front().value.p == 1);
  CHECK_FALSE(open.differences.front().improvement);
  CHECK(noted(open,
              "ad-psgd: with 8 of 8 seeds its run or that of ar-sgd ended short of the target"));
  CHECK_FALSE(has(sentences_of(open), "missed the target alike"));
  const Comparison some = compared(104);  // four seeds are ordered
  CHECK(some.differences.front().unordered == 4);
  CHECK(some.differences.front().value.unequal == 4);
}

TEST_CASE("methods without exchanges have no way to a target in exchanges") {
  const json settings = stopping_at("eval_loss", 0.5);
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    runs.push_back(run("ar-sgd", seed, {{"exchanges_to_target", 0}, {"exchanges", 0}}, settings));
    runs.push_back(run("d-psgd", seed, {{"eval_loss", 9}, {"exchanges", 0}}, settings));
  }
  const Comparison comparison = compare_runs(runs);
  for (const ComparedDifference& one : comparison.differences)
    if (one.metric == "exchanges_to_target") CHECK(one.unordered == 8);
}

TEST_CASE("JSON names a median that is worse than any number") {
  const json settings = stopping_at("eval_loss", 0.5);
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    runs.push_back(seed == 1 ? run("ar-sgd", seed, {{"gradients_to_target", 9}}, settings)
                             : run("ar-sgd", seed, {{"eval_loss", 9}}, settings));
  const json told = to_json(compare_runs(runs))["groups"][0]["metrics"]["gradients_to_target"];
  CHECK(told["median"] == "inf");
  CHECK(told["iqm"].is_null());  // of fewer than eight seeds
}

TEST_CASE("a target that some runs did not reach is never averaged away") {
  const json settings = stopping_at("eval_loss", 0.5);
  std::vector<ComparedRun> runs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const double base = 100.0 * static_cast<double>(seed);
    runs.push_back(run("ar-sgd", seed, {{"gradients_to_target", base}}, settings));
    runs.push_back(seed == 2 ? run("ad-psgd", seed, {{"eval_loss", 9}}, settings)
                             : run("ad-psgd", seed, {{"gradients_to_target", base / 2}}, settings));
    runs.push_back(run("a2cid2", seed, {{"eval_loss", 9}}, settings));
  }
  for (ComparedRun& one : runs) one.summary.progress.gradients = 1000;
  CompareOptions options;
  options.metrics = {"gradients_to_target"};
  const Comparison comparison = compare_runs(runs, options);
  const ComparedGroup& some = comparison.groups[1];
  CHECK_FALSE(some.metrics.contains("gradients_to_target"));  // no mean of the runs that reached it
  CHECK(comparison.differences[0].value.difference.n == 0);
  CHECK(censored(some, "gradients_to_target") == 1);
  CHECK(*some.robust.at("gradients_to_target").median == 150);  // of 50, 150 and never
  CHECK(noted(comparison, "ad-psgd: 2 of 3 runs reached eval_loss = 0.5"));
  CHECK(noted(comparison, "no run reached eval_loss = 0.5: a2cid2"));
  // 50 and 150 and never against 100, 200, 300: 3 + 2 + 0 of 9 pairs are faster.
  CHECK(comparison.differences[0].improvement->value == Approx(5.0 / 9));

  const json document = to_json(comparison);
  CHECK(document["groups"][1]["metrics"]["gradients_to_target"]["censored"] == 1);
  const json& none = document["groups"][2]["metrics"]["gradients_to_target"];
  CHECK(none["censored"] == 3);
  CHECK(none["n"] == 0);
  CHECK(none["mean"].is_null());
  CHECK(document["groups"][1]["metrics"]["gradients_to_target"]["reached"] == 2);
  CHECK(document["groups"][1]["metrics"]["gradients_to_target"]["mean"].is_null());
  CHECK(document["differences"][0]["mean"].is_null());
  for (const std::string& text : {to_text(comparison, false), to_markdown(comparison),
                                  to_latex(comparison), to_csv(comparison)})
    CHECK_FALSE(has(text, "100 ±"));  // of 50 and 150
  CHECK(has(to_text(comparison, false), "3 of 3"));
  CHECK(has(to_text(comparison, false), "2 of 3"));
  CHECK(has(to_text(comparison, false), "0 of 3"));
  for (const std::string& table : {to_markdown(comparison), to_latex(comparison)}) {
    CHECK(has(table, "(3 of 3)"));
    CHECK(has(table, "reached by 2 of 3"));
  }
}

TEST_CASE("a run without a target of its own is read on that of the other runs at its setting") {
  const Compared one({{"ar-sgd", {"eval_accuracy", 0.7}}});
  const Comparison& comparison = one.comparison;
  CHECK(comparison.primary == "gradients_to_target");  // never what some runs stopped at
  for (const ComparedGroup& group : comparison.groups) {
    CHECK(group.target == Target{"eval_accuracy", 0.7});
    CHECK(reached(group) == 8);
  }
  const auto* const difference =
      find_difference(comparison, comparison.groups[1].group, "gradients_to_target");
  REQUIRE(difference != nullptr);
  CHECK(difference->value.difference.n == 8);
  CHECK_FALSE(has(sentences_of(comparison), "0 of 8"));
  CHECK_FALSE(noted(comparison, "no run reached"));
  // The same as a request for all runs.
  CompareOptions asked;
  asked.target = Target{"eval_accuracy", 0.7};
  const Compared all({}, {"ar-sgd", "ad-psgd"}, asked);
  CHECK(all.comparison.groups[1].metrics.at("gradients_to_target").mean ==
        comparison.groups[1].metrics.at("gradients_to_target").mean);
}

TEST_CASE("runs that did not record the metric of another's target are not said to miss it") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    runs.push_back(run("ar-sgd", seed, {{"gradients_to_target", 100}, {"eval_accuracy", 0.8}},
                       stopping_at("eval_accuracy", 0.7)));
    runs.push_back(run("ad-psgd", seed, {{"eval_loss", 0.4}}));
  }
  const Comparison comparison = compare_runs(runs);
  CHECK(comparison.groups[0].target == Target{"eval_accuracy", 0.7});
  CHECK_FALSE(comparison.groups[1].target.has_value());
  CHECK(find_difference(comparison, comparison.groups[1].group, "gradients_to_target") == nullptr);
  CHECK_FALSE(has(to_text(comparison, false), "0 of 8"));
}

TEST_CASE("ways to different targets are never compared, and every form says why") {
  const Compared two({{"ar-sgd", {"eval_accuracy", 0.7}}, {"ad-psgd", {"eval_accuracy", 0.8}}});
  const Comparison& comparison = two.comparison;
  CHECK(comparison.primary == "eval_loss");
  for (const char* metric : {"gradients_to_target", "seconds_to_target", "bytes_to_target"})
    CHECK(find_difference(comparison, comparison.groups[1].group, metric) == nullptr);
  CHECK(pivot_of(comparison, "gradients_to_target").tests == 0);
  CHECK_FALSE(has(sentences_of(comparison), "To eval_accuracy"));
  CHECK(noted(comparison,
              "runs have different targets, so that nothing compares the ways to them: AR-SGD "
              "eval_accuracy = 0.7, AD-PSGD eval_accuracy = 0.8"));
  CHECK(has(to_csv(comparison), "targets_differ"));
  for (const std::string& form : {to_markdown(comparison), to_latex(comparison),
                                  to_latex(pivot_of(comparison, "bytes_to_target"), comparison)})
    CHECK(has(form, "runs have different targets"));
  CHECK(has(to_text(comparison, false),
            "gradients_to_target  to eval_accuracy = 0.7 or eval_accuracy = 0.8;"));

  std::vector<ComparedRun> runs;  // Not for the recipe's targets, either.
  for (const std::uint64_t seed : {1, 2}) {
    runs.push_back(run("ar-sgd", seed, {{"gradients_to_target", 1}, {"eval_loss", 2}},
                       stopping_at("eval_loss", 2)));
    runs.push_back(run("ad-psgd", seed, {{"gradients_to_target", 2}, {"eval_loss", 1}},
                       stopping_at("eval_loss", 1)));
  }
  ComparisonPlan plan;
  plan.primary = "gradients_to_target";
  const Comparison asked = compare_runs(runs, {}, {}, {plan});
  CHECK(asked.primary.empty());
  CHECK(noted(asked, "gradients_to_target, the primary outcome of the recipe, is not to the"));
}

TEST_CASE("runs without gradients reach their target as others do") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const char* algorithm : {"ad-psgd", "a2cid2"}) {
      std::map<std::string, double> metrics{{"eval_loss", 0}};
      if (seed > 1) metrics["time_to_target"] = static_cast<double>(seed);
      runs.push_back(run(algorithm, seed, metrics, stopping_at("consensus_distance", 6)));
      runs.back().summary.budget_time = 20;
    }
  const Comparison comparison = compare_runs(runs);
  CHECK_FALSE(noted(comparison, "no run reached"));
  CHECK(noted(comparison, "a2cid2: 3 of 4 runs reached consensus_distance = 6"));
  CompareOptions options;
  options.target = Target{"consensus_distance", 6};
  CHECK(noted(compare_runs(runs, options), "6 of 8 runs reached consensus_distance = 6"));
}

TEST_CASE("mid-run consensus distances are of one part of all runs at a setting") {
  const Compared two({{"a2cid2", {"eval_accuracy", 0.6}}}, {"ad-psgd", "a2cid2"});
  const Comparison& comparison = two.comparison;
  const auto& mid = comparison.points.front().mid;
  REQUIRE(mid);
  CHECK(mid->of_shortest);
  double shortest = INFINITY;
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs) {
      shortest = std::min(shortest, static_cast<double>(run.progress.gradients));
      CHECK(run.metrics.at(kMidConsensus) ==
            Approx(*mean_between(two.store, run.id, "consensus_distance", mid->axis, mid->from,
                                 mid->to)));
    }
  CHECK(shortest < 0.5 * 400 * 16);
  CHECK(mid->from == Approx(0.2 * shortest));
  CHECK(mid->to == Approx(0.5 * shortest));
  CHECK(noted(comparison, "20-50 % of the shortest run's length"));
  CHECK(has(to_text(comparison, false), "mean over 20-50 % of the shortest run;"));

  const Compared whole({{"a2cid2", {"eval_accuracy", 0.9}}}, {"ad-psgd", "a2cid2"});
  CHECK(whole.comparison.points.front().mid->of_shortest ==
        noted(whole.comparison, "shortest run's length"));
  const Compared none({}, {"ad-psgd", "a2cid2"});
  CHECK(none.comparison.points.front().mid->to == 0.5 * 400 * 16);
}

TEST_CASE("tables and notes of the way to a target say which") {
  std::vector<ComparedRun> runs;
  for (const int workers : {2, 4, 8, 16})
    for (std::uint64_t seed = 1; seed <= 2; ++seed)
      for (const char* algorithm : {"ar-sgd", "ad-psgd"}) {
        json settings = stopping_at("eval_accuracy", 0.25);
        settings["workers"]["count"] = workers;
        std::map<std::string, double> metrics{{"eval_loss", 1}};
        if (seed > 1) metrics["gradients_to_target"] = 100;
        runs.push_back(run(algorithm, seed, metrics, settings));
      }
  const Comparison comparison = compare_runs(runs);
  const Pivot pivot = pivot_of(comparison, "gradients_to_target");
  const std::string missed = "runs missed eval_accuracy = 0.25: ar-sgd at 4 settings";
  CHECK(has(to_latex(pivot, comparison), "\\caption{Gradients to eval\\_accuracy = 0.25,"));
  CHECK(has(to_latex(comparison), "Gradients to eval\\_accuracy = 0.25"));
  CHECK(has(to_text(pivot, comparison, false),
            "gradients_to_target  to eval_accuracy = 0.25; lower is better\n"));
  CHECK(has(to_text(pivot, comparison, false), missed));
  CHECK(has(to_markdown(pivot, comparison), "\n\ngradients_to_target to eval_accuracy = 0.25\n\n"));
  CHECK(has(to_markdown(pivot, comparison), missed));
  CHECK(has(to_csv(pivot, comparison), "ad-psgd target"));
  CHECK(has(to_csv(pivot, comparison), ",eval_accuracy = 0.25"));
  CHECK(has(to_csv(comparison), ",eval_accuracy = 0.25\n"));
  CHECK(has(to_markdown(comparison), "the target is eval_accuracy = 0.25"));
  const json document = to_json(comparison);
  CHECK(document["groups"][0]["metrics"]["gradients_to_target"]["target"]["value"] == 0.25);
}

TEST_CASE("runs that both missed a target are not said to have come to it alike") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const char* algorithm : {"ar-sgd", "ad-psgd"})
      runs.push_back(run(algorithm, seed, {{"eval_loss", 1}}, stopping_at("eval_accuracy", 0.9)));
    runs.push_back(run("a2cid2", seed, {{"eval_loss", 1}, {"seconds_to_target", 3}},
                       stopping_at("eval_accuracy", 0.9)));
  }
  const std::string words = sentences_of(compare_runs(runs));
  CHECK(has(words, "ad-psgd none, since neither reached it"));
  CHECK_FALSE(has(words, "the same, to rounding"));
}
