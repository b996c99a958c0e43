// Claims: what holds, what does not, and what cannot be told.
#include "tests/reports/claims.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

namespace acid::claimed {

using nlohmann::json;
using synthetic::has;

TEST_CASE("better holds beyond its margin, and turned round it does not") {
  Claim claim = claim_of(Claim::Kind::better);
  CHECK(verdict(loss_apart_by(-0.5), claim) == ClaimVerdict::holds);
  CHECK(verdict(loss_apart_by(0.5), claim) == ClaimVerdict::does_not_hold);
  CHECK(verdict(loss_apart_by(0, 0.1), claim) == ClaimVerdict::cannot_be_told);
  claim.margin = {0.4, false};
  CHECK(verdict(loss_apart_by(-0.5), claim) == ClaimVerdict::holds);
  claim.margin = {0.6, false};
  CHECK(verdict(loss_apart_by(-0.5), claim) == ClaimVerdict::does_not_hold);
  claim.margin = {0.2, true};  // of 2
  CHECK(verdict(loss_apart_by(-0.5), claim) == ClaimVerdict::holds);
  claim.margin = {0.3, true};
  CHECK(verdict(loss_apart_by(-0.5), claim) == ClaimVerdict::does_not_hold);

  const JudgedClaim one = judged(loss_apart_by(-0.5), claim_of(Claim::Kind::better));
  CHECK(one.estimate.mean == Approx(-0.5).margin(0.01));
  CHECK(one.p == Approx(1 / 256.0));
  CHECK(one.p_holm == one.p);
  CHECK(one.why.empty());
}

TEST_CASE("fewer seconds and bytes are better, and more gradients per second") {
  Claim claim = claim_of(Claim::Kind::better);
  for (const auto& [metric, better] : {std::pair("seconds", 8.0), std::pair("bytes", 8.0),
                                       std::pair("gradients_per_second", 12.0)})
    for (const bool is_true : {true, false}) {
      INFO(metric);
      std::vector<ComparedRun> runs;
      for (std::uint64_t seed = 1; seed <= 8; ++seed)
        for (const char* algorithm : {"ar-sgd", "ad-psgd"})
          runs.push_back(
              run(algorithm, seed,
                  {{metric, (algorithm == std::string("ad-psgd")) == is_true ? better : 10}}));
      claim.metric = metric;
      CHECK(verdict(compare_runs(runs), claim) ==
            (is_true ? ClaimVerdict::holds : ClaimVerdict::does_not_hold));
    }
}

TEST_CASE("equivalent and ratio hold within their bounds alone") {
  Claim claim = claim_of(Claim::Kind::equivalent);
  claim.margin = {0.1, false};
  CHECK(verdict(loss_apart_by(0.02), claim) == ClaimVerdict::holds);
  CHECK(verdict(loss_apart_by(0.3), claim) == ClaimVerdict::does_not_hold);
  CHECK(verdict(loss_apart_by(0.1, 0.05), claim) == ClaimVerdict::cannot_be_told);

  claim = claim_of(Claim::Kind::ratio);
  claim.low = 1.2;
  claim.high = 1.3;
  CHECK(verdict(loss_apart_by(0.5), claim) == ClaimVerdict::holds);
  CHECK(judged(loss_apart_by(0.5), claim).estimate.mean == Approx(1.25).epsilon(0.01));
  CHECK(verdict(loss_apart_by(1), claim) == ClaimVerdict::does_not_hold);
  claim.low = 0.9;
  claim.high = 1.1;
  CHECK(verdict(loss_apart_by(0.5), claim) == ClaimVerdict::does_not_hold);
}

TEST_CASE("rounding decides on neither side of a bound") {
  for (const double off : {1e-7, -1e-7}) {
    Claim claim = claim_of(Claim::Kind::better);
    claim.margin = {0.5, false};
    CHECK(verdict(loss_apart_by(-0.5 + off, 0), claim) == ClaimVerdict::cannot_be_told);
    CHECK(has(judged(loss_apart_by(-0.5 + off, 0), claim).why, "to rounding"));
    claim.kind = Claim::Kind::equivalent;
    CHECK(verdict(loss_apart_by(0.5 + off, 0), claim) == ClaimVerdict::cannot_be_told);
    claim.kind = Claim::Kind::ratio;
    claim.low = 1.25, claim.high = 2;
    CHECK(verdict(loss_apart_by(0.5 + off, 0), claim) == ClaimVerdict::cannot_be_told);
  }
}

TEST_CASE("a claim is not told if runs of one of its settings are not there") {
  const auto by_workers = [](const std::string& algorithm, std::uint64_t seed, int workers) {
    const bool is_better = (algorithm == "ad-psgd") == (workers == 4);
    return (is_better ? 1.0 : 2.0) + 1e-3 * static_cast<double>(seed % 3);
  };
  Claim crossover = claim_of(Claim::Kind::crossover);
  crossover.key = "workers.count";
  crossover.first = 4;
  crossover.second = 16;
  crossover.points = 2;
  CHECK(verdict(compared(by_workers, {4, 16}), crossover) == ClaimVerdict::holds);
  const JudgedClaim half = judged(compared(by_workers, {4, 8}), crossover);
  CHECK(half.verdict == ClaimVerdict::cannot_be_told);
  CHECK(half.why == "it is about 2 settings, and the runs are of 1");
}

TEST_CASE("a law holds where the formula says what was found at every point") {
  const auto by_workers = [](const std::string& algorithm, std::uint64_t seed, int workers) {
    return (algorithm == "ar-sgd" ? 3.0 : 1 + 1.0 / workers) + 1e-3 * static_cast<double>(seed % 3);
  };
  const Comparison comparison = compared(by_workers, {4, 16});
  Claim claim = claim_of(Claim::Kind::law);
  claim.than.clear();
  claim.margin = {0.01, true};
  claim.formula = "1 + 1 / workers.count";  // whole numbers divide as others do
  CHECK(claim.words() == "eval_loss of ad-psgd is 1 + 1 / workers.count within 1 %");
  CHECK(verdict(comparison, claim) == ClaimVerdict::holds);
  claim.formula = "1 + 1 / 4";
  CHECK(judged(comparison, claim).at == "workers.count = 16");
  CHECK(verdict(comparison, claim) == ClaimVerdict::does_not_hold);
  claim.margin = {1e-3, false};
  claim.formula = "1 + 1 / workers.count";
  CHECK(verdict(comparison, claim) == ClaimVerdict::cannot_be_told);
  for (const char* const wrong :
       {"workers.cout", "1 +", "'four'", "1; 2", "(SELECT 1", "random()", "julianday('now')",
        "count(*)", "1e999", "-9e307 * 10", "\"a\""}) {
    claim.formula = wrong;
    CHECK_THROWS_WITH(judged(comparison, claim), ContainsSubstring("of the claim 'a claim'"));
  }
}

TEST_CASE("a recipe may keep an algorithm away from settings of the other") {
  std::vector<ComparedRun> runs;
  for (const int n : {4, 16})
    for (const char* algorithm : {"ar-sgd", "ad-psgd"})
      for (std::uint64_t seed = 1; seed <= 8; ++seed)
        if (n == 4 || algorithm == std::string("ar-sgd"))
          runs.push_back(run(algorithm, seed, {{"eval_loss", algorithm[1] == 'r' ? 2 : 1}},
                             {{"workers", {{"count", n}}}}));
  Claim claim = claim_of(Claim::Kind::better);
  claim.points = 1;
  CHECK(judged(compare_runs(runs), claim).verdict == ClaimVerdict::holds);
  claim.points = 2;  // it runs at both, and one is to come
  CHECK(has(judged(compare_runs(runs), claim).why, "none of these runs of ad-psgd has ended"));
}

TEST_CASE("a claim about a sweep holds if it holds at each of its points") {
  const auto by_workers = [](const std::string& algorithm, std::uint64_t seed, int workers) {
    const double odd = 0.01 * (static_cast<double>((seed * 7) % 5) - 2);
    return algorithm == "ar-sgd" ? 2.0 : 2 + odd + (workers == 4 ? -0.5 : 0.5);
  };
  const Comparison comparison = compared(by_workers, {4, 16});
  Claim claim = claim_of(Claim::Kind::better);
  CHECK(verdict(comparison, claim) == ClaimVerdict::does_not_hold);
  CHECK(judged(comparison, claim).at == "workers.count = 16");
  claim.where = {{"workers.count", 4}};
  CHECK(verdict(comparison, claim) == ClaimVerdict::holds);
  claim.where = {{"workers.count", 5}};
  CHECK(has(judged(comparison, claim).why, "no point"));

  Claim crossover = claim_of(Claim::Kind::crossover);
  crossover.key = "workers.count";
  crossover.first = 4;
  crossover.second = 16;
  CHECK(verdict(comparison, crossover) == ClaimVerdict::holds);
  // The estimate is the algorithm's minus the other's, also where it is to be worse.
  CHECK(judged(comparison, crossover).estimate.mean ==
        Approx(judged(comparison, crossover).at == "workers.count = 4" ? -0.5 : 0.5).margin(0.02));
  std::swap(crossover.first, crossover.second);
  const JudgedClaim turned = judged(comparison, crossover);
  CHECK(turned.verdict == ClaimVerdict::does_not_hold);
  CHECK(turned.estimate.mean == Approx(turned.at == "workers.count = 4" ? -0.5 : 0.5).margin(0.02));
  CHECK(*turned.estimate.ci_low < turned.estimate.mean);
  CHECK(turned.estimate.mean < *turned.estimate.ci_high);
}

TEST_CASE("of two runs that diverged neither is better by a margin") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const char* algorithm : {"ar-sgd", "ad-psgd"}) {
      runs.push_back(run(algorithm, seed, {{"eval_loss", 2}}));
      runs.back().summary.state = RunState::diverged;
    }
  const Comparison comparison = compare_runs(runs);
  Claim claim = claim_of(Claim::Kind::better);
  CHECK(verdict(comparison, claim) == ClaimVerdict::cannot_be_told);
  claim.margin = {0.01, false};
  CHECK(verdict(comparison, claim) == ClaimVerdict::does_not_hold);
  claim.margin = {0.01, true};
  CHECK(verdict(comparison, claim) == ClaimVerdict::does_not_hold);
  // Beside clear differences such a pair weighs no more than its margin, however that is written.
  std::vector<double> p;
  for (ComparedRun& one : runs)
    if (one.summary.seed > 2) {
      one.summary.state = RunState::finished;
      one.summary.metrics["eval_loss"] = one.summary.algorithm == "ar-sgd" ? 2 : 1;
    }
  for (const bool relative : {false, true}) {
    claim.margin = {relative ? 0.005 : 0.01, relative};
    p.push_back(*judged(compare_runs(runs), claim).p);
  }
  CHECK(p[0] == p[1]);
  CHECK(p[0] < 0.05);
}

TEST_CASE("a share of a law that says 0 is no margin") {
  Claim law = claim_of(Claim::Kind::law);
  law.than.clear();
  law.formula = "workers.count - 4";
  law.margin = {0.1, true};
  const JudgedClaim zero = judged(loss_apart_by(-0.5), law);
  CHECK(zero.verdict == ClaimVerdict::cannot_be_told);
  CHECK(has(zero.why, "the law says 0"));
}

TEST_CASE("a claim is not told without all of its seeds, and says what is missing") {
  const Claim claim = claim_of(Claim::Kind::better, 9);
  const JudgedClaim one = judged(loss_apart_by(-0.5), claim);
  CHECK(one.verdict == ClaimVerdict::cannot_be_told);
  CHECK(one.why == "8 of 9 seeds have a value of both");
  Claim other = claim_of(Claim::Kind::better);
  other.than = "D-PSGD";
  CHECK(has(judged(loss_apart_by(-0.5), other).why, "none of these runs of D-PSGD has ended"));
  CHECK(has(judged(loss_apart_by(-0.5), claim_of(Claim::Kind::better, 1)).why, "one seed"));
  const JudgedClaim few = judged(loss_apart_by(-0.05, 0.02), claim_of(Claim::Kind::better));
  CHECK(few.verdict == ClaimVerdict::holds);
  const JudgedClaim open = judged(loss_apart_by(-0.01, 0.02), claim_of(Claim::Kind::better));
  CHECK(open.verdict == ClaimVerdict::cannot_be_told);
  const JudgedClaim three = judged(loss_apart_by(-0.5, 0.01, 3), claim_of(Claim::Kind::better, 3));
  CHECK(has(three.why, "3 seeds are too few to show it, whatever they are"));
  REQUIRE(open.seeds_to_show);
  CHECK(*open.seeds_to_show > 8);
}

TEST_CASE("a run that diverged is worse than all others, and never helps a claim") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    runs.push_back(run("ar-sgd", seed, {{"eval_loss", 2}}));
    runs.push_back(run("ad-psgd", seed, {{"eval_loss", 1}}));
    if (seed == 3) runs.back().summary.state = RunState::diverged;
  }
  const Comparison comparison = compare_runs(runs);
  const JudgedClaim open = judged(comparison, claim_of(Claim::Kind::better));
  CHECK(open.verdict == ClaimVerdict::cannot_be_told);
  CHECK_FALSE(open.seeds_to_show);
  CHECK(
      has(found(open), " over 7 of 8 seeds (with the others a run diverged or missed its target)"));
  CHECK(has(found(open), " by ranks"));
  CHECK(to_json(std::vector{open})[0]["n"] == 7);
  CHECK(to_json(std::vector{open})[0]["pairs"] == 8);
  CHECK(to_json(std::vector{open})[0]["test"] == "signed-rank");
  const JudgedClaim whole = judged(loss_apart_by(-0.5), claim_of(Claim::Kind::better));
  CHECK_FALSE((has(found(whole), " over ") || has(found(whole), "ranks")));
  CHECK(to_json(std::vector{whole})[0]["test"] == "sign-flip");
  Claim turned = claim_of(Claim::Kind::better);
  std::swap(turned.algorithm, turned.than);
  CHECK(verdict(comparison, turned) != ClaimVerdict::holds);
  Claim equivalent = claim_of(Claim::Kind::equivalent);
  equivalent.margin = {5, false};
  CHECK(has(judged(comparison, equivalent).why, "nothing is equivalent"));
}

TEST_CASE("the claims of a recipe are one family") {
  const Comparison comparison = loss_apart_by(-0.5);
  const std::vector<JudgedClaim> many = judge_claims(
      std::vector(14, &comparison), std::vector<Claim>(14, claim_of(Claim::Kind::better)));
  CHECK(many[0].p_holm == Approx(14 / 256.0));
  CHECK(many[0].verdict == ClaimVerdict::cannot_be_told);
}

TEST_CASE("a claim with few seeds may hold beside one that is surer") {
  const std::vector<Claim> both{claim_of(Claim::Kind::better), claim_of(Claim::Kind::better, 5)};
  CHECK(smallest_p_of(both[0], both) == 2 / 256.0);
  CHECK(smallest_p_of(both[1], both) == 1 / 32.0);
  const Comparison comparison = loss_apart_by(-0.5);
  CHECK(judge_claims({&comparison, &comparison}, both)[1].verdict == ClaimVerdict::holds);
  // One that was left out counts in the family.
  CHECK(judge_claims({&comparison}, {both[1]}, {both[0]})[0].p_holm == 2 / 32.0);
  CHECK(
      has(planned_words(both, {}, 200), "5 seeds can hold it only if the claims with more seeds"));
}

TEST_CASE("what lines between samples may cause is not told, and hides no other point") {
  Comparison comparison = loss_apart_by(-0.5);
  comparison.groups[0].bends["eval_loss"] = 1;
  const JudgedClaim hidden = judged(comparison, claim_of(Claim::Kind::better));
  CHECK(hidden.verdict == ClaimVerdict::cannot_be_told);
  CHECK(has(hidden.why, "a finer cadence"));
  CHECK(hidden.estimate.n == 8);
  CHECK_FALSE(hidden.seeds_to_show);
  comparison.groups[0].diverged = seeds_to(7);  // beside runs that diverged it says nothing
  std::erase_if(comparison.groups[0].runs, [](const RunSummary& one) { return one.seed <= 7; });
  CHECK(judged(comparison, claim_of(Claim::Kind::better)).p == Approx(std::exp2(-7)));
  comparison = compared(
      [](const std::string& algorithm, std::uint64_t seed, int workers) {
        const double worse = workers == 4 ? 0.5 : -0.01;
        return algorithm == "ar-sgd" ? 2.0 : 2 + worse + 1e-3 * static_cast<double>(seed % 3);
      },
      {4, 16});
  for (ComparedGroup& group : comparison.groups)
    if (group.settings["workers"]["count"] == 16) group.bends["eval_loss"] = 1;
  CHECK(verdict(comparison, claim_of(Claim::Kind::better)) == ClaimVerdict::does_not_hold);
}

TEST_CASE("claims that acid did not write are refused") {
  CHECK(claims_from(nullptr).empty());
  CHECK(claims_from({{"primary", "eval_loss"}}).empty());
  CHECK_THROWS_AS(claims_from({{"claims", {{{"name", "x"}}}}}), StoreError);
  const json good{{"name", "x"},
                  {"kind", "better"},
                  {"algorithm", "A"},
                  {"than", "B"},
                  {"metric", "eval_loss"},
                  {"at", "bytes"},
                  {"where", json::object()},
                  {"level", 0.01},
                  {"seeds", {1, 2}},
                  {"by", {{"value", 0.1}, {"relative", false}}}};
  const Claim claim = claims_from({{"claims", {good}}}).at(0);
  CHECK(claim.equal == PositionAxis::bytes);
  CHECK(claim.words() ==
        "A is better than B in eval_loss at equal bytes by 0.1 at least, at level 0.01");
  json altered = good;
  altered["by"]["value"] = 0.05;
  CHECK(claims_from({{"claims", {altered}}}).at(0).digest != claim.digest);
}

}  // namespace acid::claimed
