// Margins: what may be called equivalent, how often that is wrong, and where it is said.
#include "reports/equivalence.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"
#include "reports/pivot.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::has;
using synthetic::run;
using synthetic::sentences_of;

namespace {

std::vector<ComparisonPlan> with_margin(const Margin& margin) {
  ComparisonPlan plan;
  plan.margins["eval_accuracy"] = margin;
  return {plan};
}

/// AR-SGD and an algorithm whose accuracy differs by `apart`, with noise of that size.
std::vector<ComparedRun> apart_by(double apart, double noise, std::uint64_t seeds,
                                  const json& settings = {}) {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const double base = 0.9 + 0.01 * static_cast<double>(seed % 3);
    const double odd = noise * (static_cast<double>((seed * 7) % 5) - 2);
    runs.push_back(run("ar-sgd", seed, {{"eval_accuracy", base}}, settings));
    runs.push_back(run("ad-psgd", seed, {{"eval_accuracy", base + apart + odd}}, settings));
  }
  return runs;
}

constexpr std::array kTwins{"ar-sgd", "ad-psgd", "a2cid2", "d-psgd"};

/// Three algorithms that all differ from the baseline by the same.
Comparison study(Stream& stream, int seeds, double apart, const Margin& margin) {
  std::vector<ComparedRun> runs;
  for (const char* algorithm : kTwins)
    for (int seed = 1; seed <= seeds; ++seed)
      runs.push_back(
          run(algorithm, static_cast<std::uint64_t>(seed),
              {{"eval_accuracy", 10 + stream.normal() + (algorithm == kTwins[0] ? 0 : apart)}}));
  return compare_runs(runs, {}, {}, with_margin(margin));
}

int equivalents(const Comparison& comparison) {
  return static_cast<int>(std::ranges::count_if(comparison.differences, is_equivalent));
}

}  // namespace

TEST_CASE("of studies whose difference is exactly the margin at most 5 % call it equivalent",
          "[release]") {
  constexpr int kStudies = 500;
  constexpr double kMargin = 1.5;
  // 5 % and 3.1 standard deviations: 500 studies that are wrong in exactly 5 % exceed that once in
  // a thousand times.
  const double most = 0.05 * kStudies + 3.1 * std::sqrt(0.05 * 0.95 * kStudies);
  int wrong = 0, studies = 0;
  for (const int seeds : {6, 10, 20})
    for (const int side : {1, -1}) {
      Stream stream(static_cast<std::uint64_t>(100 * seeds + 1 + side));
      int any = 0;
      for (int k = 0; k < kStudies; ++k)
        any += equivalents(study(stream, seeds, side * kMargin, {kMargin, false})) > 0;
      WARN(seeds << " seeds, difference " << side * kMargin << ": " << any << " of " << kStudies
                 << " studies call it equivalent");
      CHECK(any <= most);
      wrong += any;
      studies += kStudies;
    }
  WARN("in all " << wrong << " of " << studies);
  CHECK(wrong <= 0.05 * studies);
  CHECK(wrong >= 0.02 * studies);  // a test that never shows anything would pass the line above
}

TEST_CASE("algorithms that are one in truth are shown to be equivalent, given seeds", "[release]") {
  Stream stream(5);
  int shown = 0;
  constexpr int kStudies = 100;
  for (int k = 0; k < kStudies; ++k)
    shown += equivalents(study(stream, 20, 0, {2, false})) == static_cast<int>(kTwins.size()) - 1;
  WARN("all three equivalent in " << shown << " of " << kStudies << " studies");
  CHECK(shown >= 80);
}

TEST_CASE("equivalence within a margin is said in every form") {
  const Comparison comparison =
      compare_runs(apart_by(0.001, 0.001, 8), {}, {}, with_margin({0.01, false}));
  const ComparedDifference& one = comparison.differences.front();
  CHECK(judge(one) == Judgement::equivalent);
  CHECK(*one.equivalence->p == Approx(1 / 256.0));
  CHECK(headline(comparison, comparison.points.front()).result ==
        "Equivalent to ar-sgd within 0.01 in evaluation accuracy: ad-psgd.");
  CHECK(has(sentences_of(comparison),
            "ad-psgd and ar-sgd were equivalent within 0.01 in evaluation accuracy: 0.0"));
  CHECK(has(sentences_of(comparison),
            "two one-sided exact sign-flip tests, p (Holm over 1 comparison) = 0.004"));
  const std::string text = to_text(comparison, false);
  CHECK(has(text, "equivalent"));
  CHECK(has(text, "within 0.01"));
  CHECK(has(to_markdown(comparison), "| within 0.01, p = 0.004 |"));
  CHECK(has(to_latex(comparison), "Equivalent"));
  CHECK(has(to_latex(comparison), "within 0.01, p = 0.004"));
  CHECK(has(to_csv(comparison), "equivalent within 0.01"));
  const json difference = to_json(comparison)["differences"][0];
  CHECK(difference["verdict"] == "equivalent within 0.01");
  CHECK(difference["margin"] == Approx(0.01));
  CHECK(difference["p_equivalence_holm"] == Approx(1 / 256.0));
}

TEST_CASE("the table of a sweep marks what is equivalent to the baseline of its setting") {
  std::vector<ComparedRun> runs;
  for (const double rate : {0.1, 0.2})
    for (ComparedRun& one :
         apart_by(rate > 0.15 ? 0.1 : 0.001, 0.001, 9, {{"optimizer", {{"learning_rate", rate}}}}))
      runs.push_back(std::move(one));
  const Comparison comparison = compare_runs(runs, {}, {}, with_margin({0.01, false}));
  const Pivot pivot = pivot_of(comparison, "eval_accuracy");
  CHECK(std::ranges::count(pivot.equivalent, true) == 1);
  const std::string text = to_text(pivot, comparison, false);
  INFO(text);
  CHECK(has(text, std::string(kEquivalentMark) + " equivalent to ar-sgd within 0.01"));
  CHECK(has(to_markdown(pivot, comparison), std::string(kEquivalentMark) + " |"));
  CHECK(has(to_csv(pivot, comparison), "ad-psgd equivalent"));
  CHECK(has(to_latex(pivot, comparison), "$\\approx$"));
  CHECK_FALSE(
      has(to_csv(pivot_of(compare_runs(runs), "eval_accuracy"), compare_runs(runs)), "equivalent"));
}

TEST_CASE("a margin can be a share of the baseline's value") {
  const auto verdict = [](double apart) {
    const Comparison comparison =
        compare_runs(apart_by(apart, 0.001, 8), {}, {}, with_margin({0.02, true}));
    return verdict_of(comparison.differences.front());
  };
  CHECK(verdict(0.000) == "equivalent within 2 %");
  CHECK(verdict(0.010) == "better, equivalent within 2 %");
  CHECK(verdict(0.030) == "better");
  CHECK(has(to_latex(compare_runs(apart_by(0, 0.001, 8), {}, {}, with_margin({0.02, true}))),
            "& within 2 \\%, p = 0.004 \\\\\n"));
}

TEST_CASE("without a margin nothing is called equal, and what would have been shown is said") {
  const Comparison comparison = compare_runs(apart_by(0, 0.001, 10));
  const std::string words = sentences_of(comparison);
  INFO(words);
  CHECK(has(words, "No difference in evaluation accuracy between ad-psgd and ar-sgd was shown: "));
  CHECK(has(words, "; a difference of 0.001"));
  CHECK(has(words, " would have been, with 80 % power."));
  for (const char* claim : {"equivalent", "same", "equal"}) {
    CHECK_FALSE(has(words, claim));
    CHECK_FALSE(has(headline(comparison, comparison.points.front()).result, claim));
  }
}

TEST_CASE("a method that diverged once is equivalent to nothing") {
  std::vector<ComparedRun> runs = apart_by(0, 0.0001, 10);
  runs.back().summary.state = RunState::diverged;
  const Comparison comparison = compare_runs(runs, {}, {}, with_margin({0.01, false}));
  CHECK_FALSE(comparison.differences.front().equivalence->p);
  CHECK_FALSE(has(sentences_of(comparison), "equivalent"));
}

TEST_CASE("margins are read from the store as acid wrote them") {
  const ComparisonPlan plan = comparison_plan_from(
      json::parse(R"({"margins": {"eval_loss": {"value": 0.02, "relative": true}}})"));
  CHECK(plan.margins.at("eval_loss") == Margin{0.02, true});
  for (const char* altered :
       {R"({"margins": 1})", R"({"margins": {"loss": {"value": 0.02, "relative": true}}})",
        R"({"margins": {"eval_loss": {"value": 0, "relative": true}}})",
        R"({"margins": {"eval_loss": {"value": 1}}})"})
    CHECK_THROWS_AS(comparison_plan_from(json::parse(altered)), StoreError);
  std::vector<ComparedNote> notes;
  CHECK(agreed_plan({plan, {}}, notes).margins.empty());
  CHECK(notes.size() == 1);
}
