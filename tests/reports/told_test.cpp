// What a comparison says, what it does not say, and that its forms agree.
#include <cmath>

#include "reports/forms.hpp"
#include "reports/html/sections.hpp"
#include "reports/pivot.hpp"
#include "reports/reading.hpp"
#include "reports/verdict.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;
using synthetic::page_of;
using synthetic::run;
using synthetic::sentences_of;
using synthetic::verdict_page_of;

namespace {

using Runs = std::vector<ComparedRun>;

constexpr const char* kAtBytes = "eval_loss_at_equal_bytes";

double by_seed(std::uint64_t seed) { return 0.001 * static_cast<double>(seed * seed % 7); }

/// Losses at equal bytes that differ by `apart`, read on lines that are off by `bend`.
Runs read_at_equal_bytes(double apart, double bend) {
  Runs runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const char* algorithm : {"ar-sgd", "ad-psgd"}) {
      const bool other = algorithm[1] == 'd';
      const double loss = 0.5 + by_seed(seed);
      runs.push_back(run(algorithm, seed,
                         {{"eval_loss", loss - (other ? 0.1 : 0)},
                          {kAtBytes, loss + (other ? apart + by_seed(seed) / 10 : 0)}}));
      runs.back().readings[kAtBytes] = {100, 0.1, bend};
    }
  return runs;
}

Comparison at_equal_bytes(double apart, double bend, double margin = 0) {
  ComparisonPlan plan;
  if (margin > 0) plan.margins["eval_loss"] = {margin, false};
  return compare_runs(read_at_equal_bytes(apart, bend), {}, {}, {plan}, [](Comparison& comparison) {
    comparison.equal = {{PositionAxis::bytes, 0, 1000, false, {}, {}}};
  });
}

std::string all_words_of(const Comparison& comparison) {
  std::string words;
  for (const ComparedPoint& point : comparison.points)
    words += headline(comparison, point).result + " " + headline(comparison, point).rest + "\n";
  words += sentences_of(comparison);
  for (const ComparedNote& note : comparison.notes) words += "note: " + note.text + "\n";
  return words;
}

std::string printed(const Comparison& comparison, std::string_view option,
                    ComparisonForm::Shape shape = ComparisonForm::Shape::whole,
                    const std::vector<std::string>& metrics = {}) {
  return form_of(shape, option)
      .print(comparison, {.metrics = metrics, .keys = {}, .command = "acid compare x --details"});
}

SamplesAround around(const std::vector<double>& gradients, const std::vector<double>& losses,
                     double place) {
  SamplesAround samples;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    SeriesPoint point;
    point.position.gradients = static_cast<std::int64_t>(gradients[k]);
    point.value = losses[k];
    if (gradients[k] <= place)
      samples.until.insert(samples.until.begin(), point);
    else
      samples.beyond.push_back(point);
  }
  return samples;
}

}  // namespace

TEST_CASE("what a line between samples is off by is known from the samples beside them") {
  const std::vector<double> at{100, 200, 300, 400};
  const auto bend = [&](auto curve, double place) {
    std::vector<double> losses;
    for (const double x : at) losses.push_back(curve(x));
    return read_between(around(at, losses, place), PositionAxis::gradients, place, 400)
        ->reading.bend;
  };
  const auto parabola = [](double x) { return x * x; };
  CHECK(bend(parabola, 250) == Approx(2500));  // (250 − 200)(300 − 250), exact
  CHECK(bend(parabola, 210) == Approx(900));
  CHECK(bend([](double x) { return 3 * x; }, 250) == Approx(0).margin(1e-9));
  CHECK(bend(parabola, 200) == 0);  // at a sample
  const auto decay = [](double x) { return std::exp(-x / 100); };
  const double line = (decay(200) + decay(300)) / 2;
  CHECK(bend(decay, 250) >= line - decay(250));
  CHECK(bend(decay, 250) < 2 * (line - decay(250)));
}

TEST_CASE("a difference that lines between samples may make is not told") {
  const Comparison shown = at_equal_bytes(0.01, 0.002);
  CHECK(judge(*find_difference(shown, shown.groups[1].group, kAtBytes)) == Judgement::worse);
  CHECK_FALSE(has(all_words_of(shown), "may be off"));

  const Comparison hidden = at_equal_bytes(0.01, 0.008);
  const ComparedDifference& one = *find_difference(hidden, hidden.groups[1].group, kAtBytes);
  CHECK(one.hidden == Approx(0.016));
  CHECK(judge(one) == Judgement::not_shown);
  CHECK(one.family == 2);  // it counts, so that leaving out comparisons saves nothing
  CHECK(*one.p_holm == 1);
  CHECK(has(all_words_of(hidden), ", less than lines between samples may be off"));
  CHECK(has(all_words_of(hidden),
            "note: eval_loss_at_equal_bytes: ad-psgd: the difference to ar-sgd, "
            "0.01, is less than the lines between samples may be off there, "
            "0.016, and decides nothing (p = 1); evaluate more often"));
  // At the end of each run nothing is between samples.
  CHECK(judge(*find_difference(hidden, hidden.groups[1].group, "eval_loss")) == Judgement::better);
}

TEST_CASE("an equivalence that lines between samples may make is not told") {
  const auto equivalent = [](double bend) {
    const Comparison comparison = at_equal_bytes(0.01, bend, 0.02);
    return is_equivalent(*find_difference(comparison, comparison.groups[1].group, kAtBytes));
  };
  CHECK(equivalent(0.002));
  CHECK_FALSE(equivalent(0.006));  // less than the margin is left than the lines may be off
}

TEST_CASE("runs that missed their target count, also where lines between samples hide the rest") {
  PairedValues pairs;
  pairs.a.assign(12, INFINITY);
  pairs.a[0] = 10;
  pairs.a[1] = 11;
  pairs.b.assign(12, 10.5);
  pairs.floors.assign(12, 0);
  pairs.hidden = 5;
  const PairedDifference told = tested(pairs);
  CHECK(told.p == Approx(2 * 0x1p-10));
  CHECK(told.sign == 1);
  CHECK(told.difference.n == 2);
  pairs.a.assign(12, 11);
  CHECK(tested(pairs).p == 1.0);
  CHECK(tested(pairs).sign == 0);
}

TEST_CASE("comparisons with fewer seeds than others are too small only if Holm says so") {
  const auto compared = [](std::uint64_t fewest) {
    std::vector<ComparedRun> runs;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const double loss = 0.01 * static_cast<double>(seed);
      runs.push_back(run("ar-sgd", seed, {{"eval_loss", loss}}));
      runs.push_back(run("d-psgd", seed, {{"eval_loss", 2 * loss}}));
      if (seed <= fewest) runs.push_back(run("ad-psgd", seed, {{"eval_loss", 3 * loss}}));
    }
    return compare_runs(runs);
  };
  CHECK_FALSE(synthetic::noted(compared(6), "too small to reach"));
  CHECK(synthetic::noted(compared(5), "n = 5 is too small to reach p = 0.05"));
}

TEST_CASE("seeds that do not differ are not called too few seeds") {
  Runs runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    runs.push_back(run("ar-sgd", seed, {{"eval_accuracy", 0.5}}));
    runs.push_back(run("ad-psgd", seed, {{"eval_accuracy", seed <= 4 ? 0.6 : 0.5}}));
  }
  const Comparison comparison = compare_runs(runs);
  CHECK(judge(comparison.differences.front()) == Judgement::not_shown);
  CHECK(*comparison.differences.front().smallest_p_holm == Approx(2 / 256.0));
  CHECK_FALSE(has(all_words_of(comparison), "Too few seeds"));
  CHECK(has(all_words_of(comparison),
            "; 4 of 8 pairs tie, and the smallest p that the other 4 could give is 0.12"));
  CHECK(has(all_words_of(comparison), "Too many seeds tie to show one."));
  CHECK_FALSE(has(verdict_page_of(comparison), "No verdict"));
  CHECK(has(verdict_table(synthetic::page_of(comparison)), "<small>4 of 8 pairs tie</small>"));
}

TEST_CASE("tables mark nobody as best in a distance that is 0 by construction") {
  Runs runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const auto& [algorithm, distance] :
         {std::pair("ar-sgd", 0.0), {"ad-psgd", 2.0}, {"a2cid2", 1.0}})
      runs.push_back(run(algorithm, seed,
                         {{"eval_loss", 0.5}, {kMidConsensus, distance * (1 + by_seed(seed))}}));
  const Comparison comparison = compare_runs(runs);
  const Pivot pivot = pivot_of(comparison, kMidConsensus, {});
  CHECK(pivot.tests == 1);
  CHECK(pivot.best == std::vector{false, false, false});  // AR-SGD's is lower

  CompareOptions options;
  options.baseline = "a2cid2";  // unlike AR-SGD it has a distance
  options.baseline_must_be_there = true;
  const Comparison asked = compare_runs(runs, options);
  CHECK(has(all_words_of(asked), "consensus distances are tested against a2cid2, as asked"));
  CHECK(find_difference(asked, asked.groups[1].group, kMidConsensus)->baseline ==
        asked.groups[2].group);
}

TEST_CASE("a worse algorithm within the margin is called both, each with its own p") {
  ComparisonPlan plan;
  plan.margins = {{"eval_loss", {0.02, false}}, {"eval_accuracy", {0.01, false}}};
  Runs runs;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    runs.push_back(run("ar-sgd", seed, {{"eval_loss", 0.5}, {"eval_accuracy", 0.8}}));
    runs.push_back(
        run("ad-psgd", seed,
            {{"eval_loss", 0.505 + by_seed(seed)}, {"eval_accuracy", 0.8 - by_seed(seed)}}));
  }
  plan.primary = "eval_loss";
  const Comparison comparison = compare_runs(runs, {}, {}, {plan});
  const std::string words = all_words_of(comparison);
  CHECK(has(words, "Worse than ar-sgd in evaluation loss: ad-psgd (yet equivalent within 0.02)."));
  CHECK(has(words, "ad-psgd had lower evaluation accuracy than ar-sgd (worse)"));
  CHECK(has(words, "Even so they were equivalent within 0.01"));
  const std::string page = verdict_page_of(comparison);
  CHECK(has(page, "; equivalent within 0.02, p = "));
  CHECK(has(page, "equivalent within 0.01"));
  const std::string markdown = printed(comparison, "markdown");
  CHECK(has(markdown, "**Worse than ar-sgd in evaluation loss: ad-psgd (yet equivalent within"));
  // A table in per cent has its margin in per cent.
  const std::string table =
      printed(comparison, "latex", ComparisonForm::Shape::pivot, {"eval_accuracy"});
  CHECK(has(table, "equivalent to ar-sgd within 1 percentage points"));
}

TEST_CASE("a recipe's outcome that nothing can be tested in is no silence") {
  ComparisonPlan plan;
  plan.primary = kMidConsensus;
  Runs runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const char* algorithm : {"ar-sgd", "d-psgd"})
      runs.push_back(run(algorithm, seed,
                         {{"eval_loss", 0.5 + by_seed(seed)},
                          {kMidConsensus, algorithm[0] == 'a' ? 0 : 1 + by_seed(seed)}}));
  CHECK(has(all_words_of(compare_runs(runs, {}, {}, {plan})),
            "consensus_distance_mid, the primary outcome of the recipe, is of no two algorithms "
            "here, so there is no verdict: consensus distances are tested against"));
}

TEST_CASE("the last round of methods of rounds is no difference in speed") {
  Runs runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const char* algorithm : {"ar-sgd", "ad-psgd", "slow"}) {
      runs.push_back(run(algorithm, seed,
                         {{"eval_loss", 0.5 + by_seed(seed)},
                          {"gradients_per_second", algorithm[0] == 's'   ? 10.0
                                                   : algorithm[1] == 'r' ? 16.0
                                                                         : 15.873}}));
      runs.back().summary.progress.gradients = 1000;
      runs.back().summary.workers = 16;
    }
  const Comparison comparison = compare_runs(runs);
  CHECK_FALSE(has(all_words_of(comparison), "ad-psgd computed"));
  CHECK(has(all_words_of(comparison),
            "slow computed 0.625 × as many gradients per second as ar-sgd"));
  const auto* const one =
      find_difference(comparison, comparison.groups[1].group, "gradients_per_second");
  CHECK((one == nullptr || !one->p_holm || *one->p_holm == 1));
}

TEST_CASE("what is compared was chosen again: every form says so") {
  ComparisonPlan plan;
  plan.primary = "eval_loss";
  plan.before = "primary outcome eval_accuracy";
  Runs runs;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (const char* algorithm : {"ar-sgd", "ad-psgd"})
      runs.push_back(run(algorithm, seed, {{"eval_loss", 0.5 + by_seed(seed)}}));
  const Comparison comparison = compare_runs(runs, {}, {}, {plan});
  const char* const words = "changed when some had ended: before, primary outcome eval_accuracy";
  CHECK(has(all_words_of(comparison), words));
  CHECK(has(verdict_page_of(comparison), words));
}

TEST_CASE("nothing is told at an equal place where the runs that finished have no value") {
  Runs runs = read_at_equal_bytes(0.1, 0);
  for (std::size_t k = 0; k < runs.size(); ++k) {
    if (runs[k].summary.seed > 6) {  // of both methods
      runs[k].summary.state = RunState::diverged;
      runs[k].summary.metrics.clear();
    }
    if (runs[k].summary.algorithm == "ad-psgd") runs[k].summary.metrics.erase(kAtBytes);
  }
  const Comparison comparison = compare_runs(runs, {}, {}, {}, [](Comparison& made) {
    made.equal = {{PositionAxis::bytes, 0, 1000, false, {}, {}}};
  });
  for (const ComparedDifference& one : comparison.differences)
    if (one.metric == kAtBytes) CHECK(one.value.pairs == 0);
}
