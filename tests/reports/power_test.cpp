// How many seeds a test needs.
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

/// Share of studies that show the only difference in a family, after Holm's correction.
double realised_power(std::size_t family, int pairs, double effect, int studies) {
  constexpr double kLargest = ComparedDifference::kSignificance;
  int shown = 0;
  for (int s = 0; s < studies; ++s) {
    Stream stream(20261126 + family * 1000 + static_cast<std::uint64_t>(pairs),
                  static_cast<std::uint64_t>(s));
    std::vector<double> p{drawn_p(stream, pairs, effect)};
    // For any other p in the family, Holm's p lies between p and p times the family.
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
             .course = {.ends = {{PositionAxis::gradients, PlannedEnd::exactly(1000)},
                                 {PositionAxis::seconds, {}},
                                 {PositionAxis::bytes, {}}}}});
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
  CHECK(verdict.comparisons.fewest == 8);
  CHECK(verdict.comparisons.most == 24);  // and at equal time and bytes
  CHECK(verdict.equal == std::vector<PositionAxis>{PositionAxis::seconds, PositionAxis::bytes});
  CHECK(verdict.seeds == 6);
  CHECK(verdict.seeds_needed == 9);
  CHECK(verdict.seeds_needed_for_all == 10);
  CHECK(verdict.too_few());
  CHECK(has(too_few_words(verdict), "6 seeds, but 9 are needed"));
  CHECK(has(too_few_words(verdict), "2/2^9 × 8 comparisons (Holm's correction) = 0.031"));
  CHECK(family_words(verdict) ==
        "8 to 24 comparisons to ar-sgd at 4 settings: 8 where each run ends, up to 16 at equal "
        "time and bytes");
  CHECK(planned_verdict(recipe({"ar-sgd"}, 1, 3)).comparisons.most == 0);
  CHECK(to_json(planned_verdict(recipe({"ar-sgd"}, 1, 3))).is_null());
}

TEST_CASE("a plan counts the family of the outcome that its report is about") {
  const std::vector<std::string> algorithms{"ar-sgd", "ad-psgd", "a2cid2"};
  std::vector<PlannedOutcome> runs = recipe(algorithms, 4, 6);
  const auto by_loss = planned_verdict(runs, {.primary = "eval_loss", .consensus_baseline = ""});
  CHECK(by_loss.comparisons.most == 24);
  CHECK(by_loss.decided_by == "[comparison] primary");
  // AR-SGD always agrees; the others are compared with each other, over whole runs.
  for (PlannedOutcome& one : runs) one.always_agrees = one.algorithm == "ar-sgd";
  const ComparisonPlan consensus{.primary = "consensus_distance_mid", .consensus_baseline = ""};
  const PlannedVerdict of_consensus = planned_verdict(runs, consensus);
  CHECK(of_consensus.comparisons.most == 4);
  CHECK(of_consensus.comparisons.is_known());
  CHECK(of_consensus.at_ends == 4);
  CHECK(of_consensus.baseline == "ad-psgd");
  CHECK(of_consensus.equal.empty());
  std::vector<PlannedOutcome> exchanges = runs;
  for (PlannedOutcome& one : exchanges) one.has_gradients = false;
  CHECK(planned_verdict(exchanges).comparisons.most == 4);
  // Last values at the target are the same for all; the way to it is compared.
  for (PlannedOutcome& one : runs)
    one.settings["budget"]["target"] = {{"metric", "eval_loss"}, {"value", 0.1}};
  const PlannedVerdict of_target = planned_verdict(runs);
  CHECK(of_target.comparisons.most == 8);
  CHECK(of_target.decided_by == "budget.target");
  CHECK(of_target.baseline == "ar-sgd");
  CHECK(of_target.equal.empty());
}

TEST_CASE("the family of a plan is the family that its report has, once the runs are there") {
  const synthetic::Filled made({.workers = {4, 8, 16}});
  const Comparison comparison = compare(made.store, made.ids);
  std::vector<PlannedOutcome> planned;
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs) {
      planned.push_back({.group = group.group,
                         .algorithm = group.algorithm,
                         .label = group.label,
                         .seed = run.seed,
                         .settings = group.settings,
                         .course = {}});
      for (const EqualPlace& place : comparison.equal)  // the recipe decides the number of axes
        planned.back().course.ends[place.axis] =
            place.at_end ? std::optional(PlannedEnd::exactly(run.workers)) : std::nullopt;
    }
  const PlannedVerdict verdict = planned_verdict(planned);
  std::size_t family = 0;
  for (const ComparedDifference& one : comparison.differences)
    family += base_metric(one.metric) == comparison.primary ? 1 : 0;
  CHECK(family > 6);
  CHECK(verdict.comparisons.most == family);
  CHECK(verdict.comparisons.most == family_size(comparison));
  CHECK(verdict.at_ends == 6);
  CHECK(verdict.seeds == 3);
}

TEST_CASE("a plan of more than a few seeds is counted at once") {
  const PlannedVerdict verdict = planned_verdict(recipe({"ar-sgd", "ad-psgd"}, 30, 40));
  CHECK(verdict.comparisons.most == 90);
  CHECK(verdict.seeds == 40);
}

namespace {

/// Two algorithms whose runs end after 100 gradients of each worker and 100 seconds, sampled every
/// 5 gradients.
std::vector<PlannedOutcome> with_bytes(const std::vector<PlannedEnd>& bytes) {
  std::vector<PlannedOutcome> runs = recipe({"ar-sgd", "ad-psgd"}, 1, 8);
  for (PlannedOutcome& one : runs) {
    one.course.gradients = 100;
    one.course.every = 5;
    one.course.ends[PositionAxis::seconds] = PlannedEnd::exactly(100);
    one.course.ends[PositionAxis::bytes] = bytes[one.algorithm == "ar-sgd" ? 0 : 1];
  }
  return runs;
}

}  // namespace

TEST_CASE("a plan counts no comparison where ends are equal or samples are too far apart") {
  const auto comparisons = [](const PlannedEnd& a, const PlannedEnd& b) {
    const PlannedFamily family = planned_verdict(with_bytes({a, b})).comparisons;
    return std::pair(family.fewest, family.most);
  };
  using Range = std::pair<std::size_t, std::size_t>;
  const auto exactly = &PlannedEnd::exactly;
  CHECK(comparisons(exactly(1e6), exactly(1e6)) == Range(1, 1));
  CHECK(comparisons(exactly(1e6), exactly(1.009e6)) == Range(2, 2));
  CHECK(comparisons(exactly(1e6), exactly(2e6)) == Range(2, 2));
  // A tenth of the way is where a sample is; three fortieths are between two that are too far
  // apart.
  CHECK(comparisons(exactly(1e6), exactly(1e5)) == Range(2, 2));
  CHECK(comparisons(exactly(1e6), exactly(0.75e5)) == Range(1, 1));
  // With so many exchanges chance makes no difference, or may make one.
  CHECK(comparisons(exactly(2e6), PlannedEnd::drawn_around(1e6, 1e6)) == Range(2, 2));
  CHECK(comparisons(exactly(1.1e6), PlannedEnd::drawn_around(1e6, 100)) == Range(1, 2));
  // With few pieces, the bytes sent meanwhile are not exactly known.
  CHECK(comparisons({1e6, 1e6, 100}, exactly(0.22e6)) == Range(1, 2));
  CHECK(comparisons({1e6, 1e6, 100}, exactly(0.8e6)) == Range(2, 2));
  // Nor is its end, which may be at a sample of the other.
  CHECK(comparisons(exactly(1e6), {0.9e5, 1.1e5, 10}) == Range(1, 2));
  CHECK(comparisons(exactly(1e6), PlannedEnd::drawn_around(1e5, 1000)) == Range(1, 1));
  CHECK(comparisons(exactly(1e6), exactly(0)) == Range(1, 1));
}

TEST_CASE("a plan warns softly where it cannot know whether its seeds suffice") {
  std::vector<PlannedOutcome> runs =
      with_bytes({PlannedEnd::exactly(1.1e6), PlannedEnd::drawn_around(1e6, 100)});
  std::erase_if(runs, [](const PlannedOutcome& one) { return one.seed > 6; });
  const PlannedVerdict verdict = planned_verdict(runs);
  CHECK_FALSE(verdict.too_few());
  CHECK(verdict.may_be_too_few());
  CHECK(has(too_few_words(verdict), "6 seeds may not suffice"));
  CHECK(has(too_few_words(verdict), "1 takes 6 seeds, 2 take 7"));
  CHECK(has(words_of(verdict), "6 seeds at least, 7 if all of 2 comparisons are made"));
  const PlannedVerdict enough =
      planned_verdict(with_bytes({PlannedEnd::exactly(1.1e6), PlannedEnd::drawn_around(1e6, 100)}));
  CHECK(too_few_words(enough).empty());
}

TEST_CASE("a plan names the outcome that decides, and what seeds a margin takes") {
  const std::vector<PlannedOutcome> runs =
      with_bytes({PlannedEnd::exactly(1e6), PlannedEnd::exactly(2e6)});
  const PlannedVerdict verdict =
      planned_verdict(runs, {.primary = "eval_loss",
                             .consensus_baseline = "",
                             .margins = {{"eval_loss", {0.2, true}}, {"eval_accuracy", {0.01}}}});
  CHECK(has(words_of(verdict), "The verdict is by evaluation loss (set by [comparison] primary)"));
  CHECK(has(words_of(verdict), "equivalent within 20 % in evaluation loss takes 6 seeds at least"));
  CHECK(has(words_of(verdict), "within 0.01 in evaluation accuracy takes 5 seeds at least"));
  CHECK(to_json(verdict)["margins"]["eval_loss"]["seeds_needed"] == 6);
  CHECK(seeds_needed_within(1) == 5);
  CHECK(seeds_needed_within(2) == 6);
  CHECK(has(words_of(planned_verdict(runs)), "by evaluation accuracy (set by the task)"));
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
  ComparedDifference between = one;
  between.hidden = 0.3;
  CHECK_FALSE(seeds_to_show_equivalent(between));  // no number of seeds can
  between.hidden = 0.3 - std::abs(e.mean) / 2;     // nor where less is left to the margin
  CHECK_FALSE(seeds_to_show_equivalent(between));
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
