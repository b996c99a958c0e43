// What a comparison may claim, and how often it may be wrong.
#include "reports/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/rng.hpp"
#include "reports/compare.hpp"
#include "reports/equivalence.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::has;
using synthetic::run;

namespace {

constexpr std::array kAlgorithms{"ar-sgd", "ad-psgd", "a2cid2", "d-psgd", "local-sgd", "sgp"};

/// A baseline and five algorithms with two outcomes of unit variance, and the gain of the last one.
Comparison noise(Stream& stream, int seeds, double gain,
                 const std::vector<ComparisonPlan>& plans = {}) {
  std::vector<ComparedRun> runs;
  for (const char* algorithm : kAlgorithms)
    for (int seed = 1; seed <= seeds; ++seed) {
      const double effect = algorithm == kAlgorithms.back() ? gain : 0;
      runs.push_back(run(
          algorithm, static_cast<std::uint64_t>(seed),
          {{"eval_accuracy", stream.normal() + effect}, {"eval_loss", stream.normal() - effect}}));
    }
  return compare_runs(runs, {}, {}, plans);
}

bool claims(const std::string& text) { return has(text, "better") || has(text, "worse"); }

/// Whether a claim is anywhere: headline, sentences, judgements of the JSON.
bool claims_anything(const Comparison& comparison) {
  const Headline head = headline(comparison, comparison.points.front());
  bool any = has(head.result, "Better") || has(head.result, "Worse") || has(head.rest, "Worse");
  for (const std::string& sentence : verdict_sentences(comparison, comparison.points.front()))
    any = any || claims(sentence);
  for (const ComparedDifference& one : comparison.differences)
    any = any || (one.metric == comparison.primary && claims(std::string(name_of(judge(one)))));
  return any;
}

/// Ten seeds: `wild` diverges on seven, `risky` on two; where they finish they are a little better.
std::vector<ComparedRun> diverging() {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const double luck = 0.001 * static_cast<double>(seed);
    runs.push_back(run("ar-sgd", seed, {{"eval_accuracy", 0.94 + luck}}));
    runs.push_back(run("wild", seed, {{"eval_accuracy", 0.96 + luck}}));
    if (seed > 3) runs.back().summary.state = RunState::diverged;
    runs.push_back(run("risky", seed, {{"eval_accuracy", 0.95 + luck}}));
    if (seed > 8) runs.back().summary.state = RunState::diverged;
  }
  return runs;
}

const ComparedDifference& difference_of(const Comparison& comparison, const char* label) {
  for (const ComparedDifference& one : comparison.differences)
    if (group_of(comparison, one.group).label == label && one.metric == "eval_accuracy") return one;
  FAIL("no difference of " << label);
  return comparison.differences.front();
}

std::string sentence_of(const Comparison& comparison, const std::string& label) {
  for (const std::string& sentence : verdict_sentences(comparison, comparison.points.front()))
    if (has(sentence, label)) return sentence;
  return "";
}

}  // namespace

TEST_CASE("of 2,000 reports about nothing at most 6 % claim anything", "[release]") {
  for (const int seeds : {5, 10}) {
    Stream stream(static_cast<std::uint64_t>(seeds));
    constexpr int kReports = 2000;
    int claiming = 0;
    for (int k = 0; k < kReports; ++k) claiming += claims_anything(noise(stream, seeds, 0));
    const double share = static_cast<double>(claiming) / kReports;
    WARN(seeds << " seeds: " << claiming << " of " << kReports
               << " null reports claim a difference");
    CHECK(share <= 0.06);
    if (seeds == 10)
      CHECK(share >= 0.02);  // a test that never shows anything would pass the line above
  }
}

TEST_CASE("of 2,000 reports about nothing with a margin at most 6 % claim a difference",
          "[.][study]") {
  ComparisonPlan plan;
  plan.margins["eval_accuracy"] = {2, false};
  Stream stream(11);
  constexpr int kReports = 2000;
  int claiming = 0, equivalent = 0;
  for (int k = 0; k < kReports; ++k) {
    const Comparison comparison = noise(stream, 10, 0, {plan});
    claiming += claims_anything(comparison);
    equivalent += std::ranges::any_of(comparison.differences, is_equivalent);
  }
  WARN(claiming << " of " << kReports << " null reports with a margin claim a difference, "
                << equivalent << " that something is equivalent");
  CHECK(claiming <= 0.06 * kReports);
  CHECK(equivalent > kReports / 4);
}

TEST_CASE("a difference of two standard deviations is claimed at ten seeds, four times in five",
          "[release]") {
  Stream stream(7);
  constexpr int kReports = 400;
  int right = 0, wrong = 0;
  for (int k = 0; k < kReports; ++k) {
    const Comparison comparison = noise(stream, 10, 2);
    const Judgement judgement = judge(difference_of(comparison, kAlgorithms.back()));
    right += judgement == Judgement::better;
    wrong += judgement == Judgement::worse;
  }
  WARN("claimed in " << 100.0 * right / kReports << " % of reports");
  CHECK(right >= 0.8 * kReports);
  CHECK(wrong == 0);
}

TEST_CASE("a run that diverged is worse than every one that finished") {
  const Comparison comparison = compare_runs(diverging());
  const ComparedGroup& wild = comparison.groups[1];
  CHECK(wild.diverged == std::vector<std::uint64_t>{4, 5, 6, 7, 8, 9, 10});
  CHECK(wild.unfinished == 0);
  CHECK(wild.metrics.at("eval_accuracy").n == 3);
  CHECK(*wild.robust.at("eval_accuracy").median == -INFINITY);
  CHECK(*comparison.groups[2].robust.at("eval_accuracy").median == Approx(0.9535));
  CHECK(*comparison.groups[2].robust.at("eval_accuracy").iqm == Approx(0.9535));

  // Three of ten are above all of the baseline's.
  CHECK(difference_of(comparison, "wild").improvement->value == Approx(0.3));
  // Seven pairs at the greatest rank against three: of the 2¹⁰ patterns of the mean ranks 1, 2, 3
  // and seven times 7, counted below, those whose sum is as far from zero.
  const ComparedDifference& one = difference_of(comparison, "wild");
  CHECK(one.value.test == PairedTest::signed_rank);
  CHECK(one.value.pairs == 10);
  CHECK(one.value.sign == -1);
  int reached = 0;
  for (unsigned pattern = 0; pattern < 1024; ++pattern) {
    double sum = 0;
    for (unsigned k = 0; k < 10; ++k)
      sum += ((pattern >> k) & 1 ? 1 : -1) * (k < 3 ? 2.0 : 7.0);  // ties of the three: mean rank 2
    reached += std::abs(sum) >= 7 * 7.0 - 6;
  }
  CHECK(*one.value.p == Approx(reached / 1024.0));
}

TEST_CASE("survivors never win: no headline, sentence or table hides who diverged") {
  const Comparison comparison = compare_runs(diverging());
  const Headline head = headline(comparison, comparison.points.front());
  CHECK(has(head.result, "Worse than ar-sgd in evaluation accuracy: wild."));
  CHECK(has(head.rest, "Diverged: wild 7 of 10, risky 2 of 10."));
  CHECK(has(sentence_of(comparison, "wild"),
            "wild did worse than ar-sgd in evaluation accuracy: 7 of 10 seeds diverged with wild"));
  CHECK(has(sentence_of(comparison, "risky"), "2 of 10 seeds diverged with risky"));
  CHECK_FALSE(has(sentence_of(comparison, "risky"), "better"));

  const std::string text = to_text(comparison, false);
  CHECK(has(text, "3   7 of 10"));
  CHECK(has(text, "0.02 ±"));
  CHECK(has(text, std::string(kSurvivors)));
  CHECK(has(text, "wild: 7 of 10 runs diverged"));
  for (const std::string& table : {to_markdown(comparison), to_latex(comparison)}) {
    CHECK(has(table, "3 (7 of 10 diverged)"));
    CHECK(has(table, "(3 of 10)"));
    CHECK(has(table, "0.02"));
  }
  CHECK(has(to_markdown(comparison), markdown_cell(kSurvivors)));
  CHECK(has(to_latex(comparison), "{*} &"));
  CHECK(has(to_latex(comparison), "{*} mean over the seeds that finished in both"));
  const json document = to_json(comparison);
  CHECK(document["groups"][1]["n"] == 3);
  CHECK(document["groups"][1]["diverged"] == 7);
  CHECK(document["groups"][1]["metrics"]["eval_accuracy"]["diverged"] == 7);
  CHECK(document["differences"][0]["diverged"] == 7);
  CHECK(document["differences"][0]["n"] == 3);
  CHECK(document["differences"][0]["pairs"] == 10);
  CHECK(document["differences"][0]["verdict"] == "worse");
  CHECK(has(to_csv(comparison), "signed-rank,2,worse"));
}

TEST_CASE("a target that a run had no time to reach before it diverged counts as not reached") {
  const json settings{{"budget", {{"target", {{"metric", "eval_loss"}, {"value", 0.5}}}}}};
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    runs.push_back(run("ar-sgd", seed, {{"gradients_to_target", 100}}, settings));
    runs.push_back(run("wild", seed, {{"gradients_to_target", 50}}, settings));
    if (seed > 1) runs.back().summary.state = RunState::diverged;
  }
  const Comparison comparison = compare_runs(runs);
  const ComparedGroup& wild = comparison.groups[1];
  CHECK(censored(wild, "gradients_to_target") == 3);
  CHECK(*wild.robust.at("gradients_to_target").median == INFINITY);
  CHECK(comparison.differences[0].improvement->value == Approx(0.25));
  CHECK(has(to_text(comparison, false), "1 of 4    3 of 4"));
}

TEST_CASE("where all runs of a method diverged it still has a row, a test and no mean") {
  std::vector<ComparedRun> runs = diverging();
  std::erase_if(runs, [](const ComparedRun& one) { return one.summary.algorithm == "risky"; });
  for (ComparedRun& one : runs)
    if (one.summary.algorithm == "wild") one.summary.state = RunState::diverged;
  const Comparison comparison = compare_runs(runs);
  const ComparedDifference& one = difference_of(comparison, "wild");
  CHECK(*one.p_holm == Approx(2 / 1024.0));
  CHECK(one.value.difference.n == 0);
  CHECK(judge(one) == Judgement::worse);
  CHECK(to_json(comparison)["differences"][0]["mean"].is_null());
  CHECK(to_json(comparison)["groups"][1]["metrics"]["eval_accuracy"]["mean"].is_null());
  INFO(to_text(comparison, false));
  CHECK(has(to_text(comparison, false), "0  10 of 10"));
  CHECK(has(to_csv(comparison), ",0,,,,,"));
}

TEST_CASE("methods that diverge alike are not the same, and a sweep says which setting it means") {
  std::vector<ComparedRun> runs;
  for (const double rate : {0.1, 2.2})
    for (const char* algorithm : {"ar-sgd", "wild"})
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        runs.push_back(
            run(algorithm, seed, {{"eval_loss", 1.0}}, {{"optimizer", {{"learning_rate", rate}}}}));
        if (rate > 1) runs.back().summary.state = RunState::diverged;
      }
  const Comparison comparison = compare_runs(runs);
  const ComparedPoint& lost = comparison.points[1];
  CHECK(
      verdict_sentences(comparison, lost)[0] ==
      "wild and ar-sgd diverged alike, with each of 6 paired seeds, and have no evaluation loss.");
  CHECK_FALSE(has(headline(comparison, lost).result, "the same"));
  CHECK(headline(comparison, lost).rest == "Diverged: ar-sgd 6 of 6, wild 6 of 6.");
  CHECK(to_json(comparison)["verdict"][1] ==
        "optimizer.learning_rate = 2.2: wild and ar-sgd diverged alike, with each of 6 paired "
        "seeds, and have no evaluation loss.");
  CHECK(has(to_latex(comparison), "% optimizer.learning_rate = 2.2: wild"));
}

TEST_CASE("without a difference of survivors no note explains a star") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const char* algorithm : {"ar-sgd", "ad-psgd", "a2cid2"}) {
      runs.push_back(run(algorithm, seed, {{"eval_loss", 1.0 + 0.1 * double(seed)}}));
      if (algorithm[1] == '2') runs.back().summary.state = RunState::diverged;
    }
  const std::string text = to_text(compare_runs(runs), false);
  CHECK_THAT(text, ContainsSubstring("4 of 4"));
  CHECK_THAT(text, !ContainsSubstring("*"));
}

TEST_CASE("totals and ratios of survivors are marked too") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const char* algorithm : {"ad-psgd", "a2cid2"}) {
      runs.push_back(run(algorithm, seed,
                         {{"eval_loss", 1.0}, {"consensus_distance_mid", 2.0}, {"seconds", 5.0}}));
      if (algorithm[1] == '2' && seed == 4) runs.back().summary.state = RunState::diverged;
    }
  const Comparison comparison = compare_runs(runs);
  const std::string text = to_text(comparison, false);
  CHECK(has(text.substr(text.find("totals")), "1 of 4"));
  CHECK(has(sentence_of(comparison, "Mid-run"), "over 3 paired seeds of 4 that finished in both"));
  CHECK(to_json(comparison)["ratios"][0]["diverged"] == 1);
}

TEST_CASE("what is claimed at equal time is of the family of what is claimed at the end") {
  for (const std::uint64_t seeds : {6, 7}) {
    std::vector<ComparedRun> runs;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      for (const char* algorithm : {"ar-sgd", "ad-psgd"}) {
        const double gain = algorithm[1] == 'd' ? 0.1 + 0.001 * static_cast<double>(seed) : 0;
        runs.push_back(
            run(algorithm, seed,
                {{"eval_accuracy", 0.9 - gain}, {"eval_accuracy_at_equal_seconds", 0.5 + gain}}));
      }
    const Comparison comparison = compare_runs(runs, {}, {}, {}, [](Comparison& it) {
      it.equal = {{PositionAxis::gradients, 0, 1000, true, {}, {}},
                  {PositionAxis::seconds, 0, 160, false, {}, {}}};
    });
    for (const ComparedDifference& one : comparison.differences) {
      CHECK(one.family == 2);
      CHECK(*one.p_holm == Approx(2 * 2 / std::exp2(seeds)));
    }
    const ComparedPoint& point = comparison.points.front();
    const std::string there = equal_sentences(comparison, point).at(0);
    INFO(there);
    CHECK(has(there, "At equal time (2.67 min), difference in evaluation accuracy to ar-sgd: "));
    CHECK(has(there, seeds == 6 ? "too few seeds." : "better, p = 0.031."));
    CHECK(has(headline(comparison, point).result,
              seeds == 6 ? "No difference in evaluation accuracy at equal gradients"
                         : "Worse than ar-sgd in evaluation accuracy at equal gradients: ad-psgd"));
  }
}

TEST_CASE("with too few seeds the sentence says so and gives the estimate") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double luck = 0.001 * static_cast<double>(seed * seed);
    runs.push_back(run("ar-sgd", seed, {{"eval_accuracy", 0.94}}));
    runs.push_back(run("a2cid2", seed, {{"eval_accuracy", 0.95 + luck}}));
  }
  const Comparison comparison = compare_runs(runs);
  const std::string sentence = sentence_of(comparison, "a2cid2");
  CHECK(has(sentence, "Too few seeds to tell a2cid2 from ar-sgd in evaluation accuracy"));
  INFO(sentence);
  CHECK(
      has(sentence, "they could give is 0.25. The difference is 0.0147 [0.00463, 0.0247] over 3"));
  CHECK_FALSE(claims_anything(comparison));
  CHECK(headline(comparison, comparison.points.front()).rest == "Too few seeds to show one.");
  CHECK(to_json(comparison)["differences"][0]["verdict"] == "too few seeds");
}

TEST_CASE("a headline is not of all where one shares no seed with the baseline") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    runs.push_back(run("ar-sgd", seed, {{"eval_loss", 0.5}}));
    runs.push_back(run("a2cid2", seed, {{"eval_loss", 0.5}}));
    runs.push_back(run("d-psgd", seed + 100, {{"eval_loss", 0.4}}));
  }
  const Comparison comparison = compare_runs(runs);
  CHECK(headline(comparison, comparison.points.front()).result ==
        "No difference in evaluation loss to ar-sgd was shown.");
}

TEST_CASE("differences that are rounding name no winner") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const double loss = 29.8 + static_cast<double>(seed);
    runs.push_back(run("ar-sgd", seed, {{"eval_loss", loss}}));
    runs.push_back(run("a2cid2", seed, {{"eval_loss", loss * (1 - 1e-9)}}));
  }
  const Comparison comparison = compare_runs(runs);
  CHECK(*comparison.differences[0].p_holm == 1);
  CHECK(headline(comparison, comparison.points.front()).result ==
        "All had the same evaluation loss, to rounding.");
  CHECK_FALSE(claims_anything(comparison));
}

TEST_CASE("every way to print a comparison prints one p, and names it") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const double luck = 0.01 * static_cast<double>(seed);
    runs.push_back(run("ar-sgd", seed, {{"eval_accuracy", 0.5 + luck}}));
    runs.push_back(run("ad-psgd", seed, {{"eval_accuracy", 0.6 + luck * luck}}));
    runs.push_back(run("a2cid2", seed, {{"eval_accuracy", 0.7 - luck * luck}}));
  }
  const Comparison comparison = compare_runs(runs);
  CHECK(*comparison.differences[0].p_holm == Approx(1.0 / 16));
  for (const std::string& text :
       {to_text(comparison, false), to_markdown(comparison), to_latex(comparison)}) {
    CHECK(has(text, "(Holm)"));
    CHECK(has(text, "0.062"));
    CHECK_FALSE(has(text, "0.031"));
  }
  CHECK(to_json(comparison)["differences"][0]["p_holm"] == Approx(1.0 / 16));
  // Its interval covers zero at most when the test cannot tell: it is as wide as the family asks.
  const Estimate& apart = comparison.differences[0].value.difference;
  CHECK(*comparison.differences[0].simultaneous.ci_low < *apart.ci_low);
  CHECK(*comparison.differences[0].simultaneous.ci_high > *apart.ci_high);
}
