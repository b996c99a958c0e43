// How many seeds it takes.
#include "reports/power.hpp"

#include <cmath>

#include "engine/base/rng.hpp"
#include "reports/compare.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/planned_verdict.hpp"
#include "reports/verdict.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;
using synthetic::run;

namespace {

/// p of normal paired differences with that mean.
double drawn_p(Stream& stream, int pairs, double effect) {
  const std::vector<double> zeros(static_cast<std::size_t>(pairs));
  std::vector<double> values(zeros.size());
  for (double& value : values) value = stream.normal() + effect;
  return *paired_difference(values, zeros).p;
}

/// Share of studies that show the one difference there is in a family, after Holm's correction.
double realised_power(std::size_t family, int pairs, double effect, int studies) {
  constexpr double kLargest = ComparedDifference::kSignificance;
  int shown = 0;
  for (int s = 0; s < studies; ++s) {
    Stream stream(20261126 + family * 1000 + static_cast<std::uint64_t>(pairs),
                  static_cast<std::uint64_t>(s));
    std::vector<double> p{drawn_p(stream, pairs, effect)};
    // Whatever the others are, Holm's p lies between p and p times the family.
    if (p.front() <= kLargest && p.front() * static_cast<double>(family) > kLargest)
      while (p.size() < family) p.push_back(drawn_p(stream, pairs, 0));
    const double adjusted =
        p.size() == family ? holm(p).front() : p.front() * static_cast<double>(family);
    shown += adjusted <= kLargest ? 1 : 0;
  }
  return static_cast<double>(shown) / studies;
}

std::vector<PlannedOutcome> recipe(const std::vector<std::string>& algorithms, int settings,
                                   std::uint64_t seeds) {
  std::vector<PlannedOutcome> runs;
  for (int k = 0; k < settings; ++k)
    for (const std::string& algorithm : algorithms)
      for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        runs.push_back(
            {.group = algorithm + std::to_string(k),
             .algorithm = algorithm,
             .label = algorithm,
             .seed = seed,
             .settings = {{"algorithm", {{"kind", algorithm}}}, {"workers", {{"count", 4 + k}}}},
             .ends = {{PositionAxis::gradients, 1000.0},
                      {PositionAxis::seconds, {}},
                      {PositionAxis::bytes, {}}}});
  return runs;
}

}  // namespace

TEST_CASE("a family needs as many seeds as its smallest p after Holm's correction says") {
  CHECK(smallest_p(1) == 1);
  CHECK(smallest_p(6) == Approx(0.03125));
  CHECK(seeds_needed(1) == 6);
  CHECK(seeds_needed(2) == 7);
  CHECK(seeds_needed(12) == 9);
  CHECK(seeds_needed(40) == 11);
  for (const std::size_t family : {1, 2, 3, 7, 12, 40, 200}) {
    const int needed = seeds_needed(family);
    const std::vector<double> enough(family, smallest_p(needed)),
        fewer(family, smallest_p(needed - 1));
    CHECK(holm(enough).front() <= ComparedDifference::kSignificance);
    CHECK(holm(fewer).front() > ComparedDifference::kSignificance);
    CHECK(power_of(needed - 1, 5, family) == 0);
    CHECK(power_of(needed, 5, family) > 0.99);
  }
}

TEST_CASE("power grows with effect and pairs, and what it asks for has it") {
  CHECK(power_of(8, 0, 1) <= 0.05);
  for (const std::size_t family : {1, 3, 24}) {
    for (const double effect : {0.3, 0.8, 1.5, -1.5}) {
      const auto pairs = seeds_to_show(effect, family);
      REQUIRE(pairs);
      CHECK(*pairs >= seeds_needed(family));
      CHECK(power_of(*pairs, effect, family) >= kPower);
      CHECK(power_of(*pairs - 1, effect, family) < kPower);
    }
    const int pairs = seeds_needed(family) + 3;
    CHECK(power_of(pairs, effect_shown(pairs, family).value(), family) ==
          Approx(kPower).margin(0.001));
    CHECK_FALSE(effect_shown(seeds_needed(family) - 1, family));
  }
  CHECK_FALSE(seeds_to_show(0, 1));
  CHECK_FALSE(seeds_to_show(1e-9, 1));
  CHECK_FALSE(seeds_to_show(NAN, 1));
}

TEST_CASE("a margin takes the more seeds the closer the difference is to it") {
  const int centred = seeds_to_show_within(1, 0, 1, 1).value();
  const int aside = seeds_to_show_within(1, 0.5, 1, 1).value();
  CHECK(centred >= 5);
  CHECK(aside > centred);
  CHECK(seeds_to_show_within(1, -0.5, 1, 1).value() == aside);
  CHECK(seeds_to_show_within(1, 0, 1, 12).value() > centred);
  CHECK_FALSE(seeds_to_show_within(1, 1, 1, 1));
  CHECK_FALSE(seeds_to_show_within(1, 0, 0, 1));
}

TEST_CASE("a plan counts the family that a report over its runs has") {
  const PlannedVerdict verdict = planned_verdict(recipe({"ar-sgd", "ad-psgd", "a2cid2"}, 4, 6));
  CHECK(verdict.baseline == "ar-sgd");
  CHECK(verdict.settings == 4);
  CHECK(verdict.at_ends == 8);
  CHECK(verdict.comparisons == 24);  // and at equal time and bytes
  CHECK(verdict.equal == std::vector<PositionAxis>{PositionAxis::seconds, PositionAxis::bytes});
  CHECK(verdict.seeds == 6);
  CHECK(verdict.seeds_needed == 10);
  CHECK(verdict.too_few());
  CHECK(has(too_few_words(verdict), "6 seeds, but 10 are needed"));
  CHECK(has(too_few_words(verdict), "2/2^10 × 24 comparisons (Holm's correction) = 0.047"));
  CHECK(family_words(verdict) ==
        "24 comparisons to ar-sgd at 4 settings: 8 at the ends, 16 at equal time and bytes");
  CHECK_FALSE(planned_verdict(recipe({"ar-sgd", "ad-psgd", "a2cid2"}, 4, 10)).too_few());
  CHECK(planned_verdict(recipe({"ar-sgd"}, 1, 3)).comparisons == 0);
  CHECK(to_json(planned_verdict(recipe({"ar-sgd"}, 1, 3))).is_null());
}

TEST_CASE("a plan counts the family of the outcome that its report is about") {
  const std::vector<std::string> algorithms{"ar-sgd", "ad-psgd", "a2cid2"};
  std::vector<PlannedOutcome> runs = recipe(algorithms, 4, 6);
  CHECK(planned_verdict(runs, {.primary = "eval_loss", .consensus_baseline = ""}).comparisons ==
        24);
  // AR-SGD always agrees; the others are compared with each other, over whole runs.
  for (PlannedOutcome& one : runs) one.always_agrees = one.algorithm == "ar-sgd";
  const ComparisonPlan consensus{.primary = "consensus_distance_mid", .consensus_baseline = ""};
  const PlannedVerdict of_consensus = planned_verdict(runs, consensus);
  CHECK(of_consensus.comparisons == 4);
  CHECK(of_consensus.at_ends == 4);
  CHECK(of_consensus.baseline == "ad-psgd");
  CHECK(of_consensus.equal.empty());
  std::vector<PlannedOutcome> exchanges = runs;
  for (PlannedOutcome& one : exchanges) one.has_gradients = false;
  CHECK(planned_verdict(exchanges).comparisons == 4);
  // What runs stopped at is the same for all; the way there is compared.
  for (PlannedOutcome& one : runs)
    one.settings["budget"]["target"] = {{"metric", "eval_loss"}, {"value", 0.1}};
  const PlannedVerdict of_target = planned_verdict(runs);
  CHECK(of_target.comparisons == 8);
  CHECK(of_target.baseline == "ar-sgd");
  CHECK(of_target.equal.empty());
}

TEST_CASE("the family of a plan is the family that its report has, once the runs are there") {
  const synthetic::Folder folder;
  Store store(folder.path(), Store::Access::write);
  synthetic::Shape shape;
  shape.workers = {4, 8, 16};
  const Comparison comparison = compare(store, synthetic::fill(store, shape));
  std::vector<PlannedOutcome> planned;
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs) {
      planned.push_back({.group = group.group,
                         .algorithm = group.algorithm,
                         .label = group.label,
                         .seed = run.seed,
                         .settings = group.settings,
                         .ends = {}});
      for (const EqualPlace& place : comparison.equal)  // how many axes is the recipe's affair
        planned.back().ends[place.axis] =
            place.at_end ? std::optional(static_cast<double>(run.workers)) : std::nullopt;
    }
  const PlannedVerdict verdict = planned_verdict(planned);
  std::size_t family = 0;
  for (const ComparedDifference& one : comparison.differences)
    family += base_metric(one.metric) == comparison.primary ? 1 : 0;
  CHECK(family > 6);
  CHECK(verdict.comparisons == family);
  CHECK(verdict.comparisons == family_size(comparison));
  CHECK(verdict.at_ends == 6);
  CHECK(verdict.seeds == 3);
}

TEST_CASE("a plan of more than a few seeds is counted at once") {
  const PlannedVerdict verdict = planned_verdict(recipe({"ar-sgd", "ad-psgd"}, 30, 40));
  CHECK(verdict.comparisons == 90);
  CHECK(verdict.seeds == 40);
}

TEST_CASE("after some seeds a comparison says how many would show what was seen") {
  std::vector<ComparedRun> runs;
  const std::vector<double> differences{0.3, -0.2, 0.4, 0.1, 0.5, -0.1};
  for (std::size_t k = 0; k < differences.size(); ++k) {
    runs.push_back(run("ar-sgd", k + 1, {{"eval_loss", 1}}));
    runs.push_back(run("ad-psgd", k + 1, {{"eval_loss", 1 + differences[k]}}));
  }
  const Comparison comparison = compare_runs(runs);
  const ComparedDifference& one = comparison.differences.front();
  REQUIRE(one.seeds_to_show);
  const Estimate& e = one.value.difference;
  CHECK(*one.seeds_to_show == seeds_to_show(e.mean / *e.sd, 1));
  CHECK(*one.seeds_to_show > 6);
  const std::string words = "if it is what was seen, " + std::to_string(*one.seeds_to_show) +
                            " seeds, " + std::to_string(*one.seeds_to_show - 6) +
                            " more, show it with 80 % power";
  CHECK(has(verdict_sentences(comparison).front(), words));
  CHECK(to_json(comparison)["differences"][0]["seeds_to_show"] == *one.seeds_to_show);
  CHECK(has(to_csv(comparison), "," + std::to_string(*one.seeds_to_show) + ",\n"));
  // Shown already, diverged, or too few to know the spread.
  for (ComparedRun& each : runs)
    if (each.summary.algorithm == "ad-psgd")
      each.summary.metrics["eval_loss"] = 2 + 0.01 * static_cast<double>(each.summary.seed);
  CHECK_FALSE(compare_runs(runs).differences.front().seeds_to_show);
  runs.resize(4);
  CHECK_FALSE(compare_runs(runs).differences.front().seeds_to_show);
}

TEST_CASE("what is rounding is not shown by more seeds, and a way to a target is") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const char* algorithm : {"ar-sgd", "ad-psgd"}) {
      const double odd = algorithm[1] == 'd' ? 1e-10 * static_cast<double>(seed) : 0;
      runs.push_back(run(algorithm, seed, {{"eval_loss", 1 + odd}}));
      runs.back().summary.workers = 4;
      runs.back().summary.progress.gradients = 4000;
    }
  const ComparedDifference rounded = compare_runs(runs).differences.front();
  CHECK(judge(rounded) == Judgement::equal);
  CHECK_FALSE(rounded.seeds_to_show);
  const std::vector<double> differences{30, -20, 40, 10, 50, -10};
  for (ComparedRun& one : runs) {
    one.settings["budget"]["target"] = {{"metric", "eval_loss"}, {"value", 1}};
    one.summary.metrics["gradients_to_target"] =
        1000 + (one.summary.algorithm == "ad-psgd" ? differences[one.summary.seed - 1] : 0);
  }
  const Comparison comparison = compare_runs(runs);
  REQUIRE(comparison.primary == "gradients_to_target");
  const ComparedDifference* const way =
      find_difference(comparison, comparison.groups[1].group, comparison.primary);
  CHECK(way->seeds_to_show.value_or(0) > 6);
}

TEST_CASE("after some seeds a comparison says how many would show what is within the margin") {
  ComparisonPlan plan;
  plan.margins["eval_loss"] = {0.3, false};
  std::vector<ComparedRun> runs;
  const std::vector<double> differences{0.6, -0.5, 0.4, 0.1, -0.4, -0.1};
  for (std::size_t k = 0; k < differences.size(); ++k) {
    runs.push_back(run("ar-sgd", k + 1, {{"eval_loss", 1}}));
    runs.push_back(run("ad-psgd", k + 1, {{"eval_loss", 1 + differences[k]}}));
  }
  const auto compared = [&] { return compare_runs(runs, {}, {}, {plan}); };
  const Comparison comparison = compared();
  const ComparedDifference& one = comparison.differences.front();
  CHECK(judge(one) == Judgement::not_shown);
  REQUIRE(one.equivalence->seeds_to_show);
  const int seeds = *one.equivalence->seeds_to_show;
  const Estimate& e = one.value.difference;
  CHECK(seeds == seeds_to_show_within(0.3, e.mean, *e.sd, 1));
  CHECK(seeds > 6);
  CHECK(
      has(verdict_sentences(comparison).front(),
          "nor were they shown to be equivalent within 0.3, two one-sided exact sign-flip tests"));
  CHECK(has(verdict_sentences(comparison).front(),
            "; if it is what was seen, " + std::to_string(seeds) + " seeds, " +
                std::to_string(seeds - 6) + " more, show that with 80 % power"));
  CHECK(to_json(comparison)["differences"][0]["seeds_to_show_equivalent"] == seeds);
  CHECK(has(to_csv(comparison), "," + std::to_string(seeds) + ",tests,"));
  // Shown already; outside of the margin; too few seeds for a difference, where a margin has its
  // own.
  plan.margins["eval_loss"] = {1.5, false};
  CHECK(is_equivalent(compared().differences.front()));
  CHECK_FALSE(compared().differences.front().equivalence->seeds_to_show);
  plan.margins["eval_loss"] = {0.001, false};
  CHECK_FALSE(compared().differences.front().equivalence->seeds_to_show);
  plan.margins["eval_loss"] = {0.3, false};
  runs.resize(8);
  CHECK(judge(compared().differences.front()) == Judgement::too_few_seeds);
  CHECK(has(verdict_sentences(compared()).front(), "nor were they shown to be equivalent"));
}

TEST_CASE("studies as planned have the power that was said, to five points", "[release]") {
  constexpr int kStudies = 1000;
  for (const std::size_t family : {1, 3, 12, 40})
    for (const int more : {0, 1, 3, 7}) {
      const int pairs = seeds_needed(family) + more;
      for (const double power : {0.5, kPower}) {
        const double effect = effect_shown(pairs, family, power).value();
        const double found = realised_power(family, pairs, effect, kStudies);
        INFO("family of " << family << ", " << pairs << " seeds, effect " << effect << ": said "
                          << power << ", found " << found);
        WARN("family of " << family << ", " << pairs << " seeds, effect " << effect << ": said "
                          << power << ", found " << found);
        CHECK(std::abs(found - power) <= 0.05);
      }
    }
}
