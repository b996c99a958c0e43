// How often claims hold where nothing is to be found, and how often what is there is found.
#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/reports/claims.hpp"

namespace acid::claimed {

using synthetic::has;

TEST_CASE("of claims about algorithms that do not differ at most 5 % hold", "[release]") {
  Stream stream(5, 36);
  int held = 0, contrary = 0;
  constexpr int kStudies = 1000;
  for (int study = 0; study < kStudies; ++study) {
    const Comparison comparison = compared(
        [&](const std::string&, std::uint64_t, int) { return 10 + stream.normal(); }, {4}, 10);
    const JudgedClaim one = judged(comparison, claim_of(Claim::Kind::better, 10));
    held += one.verdict == ClaimVerdict::holds ? 1 : 0;
    contrary += one.verdict == ClaimVerdict::does_not_hold ? 1 : 0;
  }
  // Three standard deviations above 5 %.
  CHECK(held < 0.071 * kStudies);
  CHECK(contrary < 0.071 * kStudies);
  CHECK(held + contrary > 0.05 * kStudies);
}

TEST_CASE("claims have the power that the plan says", "[release]") {
  Stream stream(6, 36);
  constexpr int kStudies = 1000, kSeeds = 10;
  struct Case {
    Claim::Kind kind;
    std::vector<int> workers;
    double effect;
  };
  for (const Case& one :
       {Case{Claim::Kind::better, {4}, 0.6}, Case{Claim::Kind::better, {4}, 1.2},
        Case{Claim::Kind::better, {4, 16}, 0.9}, Case{Claim::Kind::equivalent, {4, 16}, 1.2}}) {
    Claim claim = claim_of(one.kind, kSeeds);
    claim.points = one.workers.size();
    claim.margin = {claim.is_range() ? one.effect : 0, false};
    const double apart = claim.is_range() ? 0 : -one.effect;
    int held = 0;
    for (int study = 0; study < kStudies; ++study) {
      const Comparison comparison =
          compared([&](const std::string& algorithm, std::uint64_t,
                       int) { return algorithm == "ar-sgd" ? 10.0 : 10 + apart + stream.normal(); },
                   one.workers, kSeeds);
      held += verdict(comparison, claim) == ClaimVerdict::holds;
    }
    CHECK(static_cast<double>(held) / kStudies ==
          Approx(power_of_claim(claim, kSeeds, one.effect, 1)).margin(0.05));
  }
}

TEST_CASE("the power of a claim is that of all its tests together") {
  Claim claim = claim_of(Claim::Kind::better);
  const double one = power_of_claim(claim, 8, 1, 1);
  claim.points = 3;
  CHECK(power_of_claim(claim, 8, 1, 1) == Approx(one * one * one));
  CHECK(has(planned_words({claim}, {}, 400), " standard deviations at each of 3 settings with 80"));
  claim.kind = Claim::Kind::equivalent;
  claim.points = 1;
  CHECK(power_of_claim(claim, 8, 1, 1) == Approx(1 - 2 * (1 - one)));
  CHECK(has(planned_words({claim}, {}, 400), " standard deviations on both sides with 80 % power"));
  claim = claim_of(Claim::Kind::crossover);  // of an acid that did not count its settings
  CHECK(power_of_claim(claim, 8, 1, 1) == Approx(one * one));

  // More settings that are like it need more seeds.
  const auto seeds_at = [](const std::vector<int>& workers) {
    return judged(loss_apart_by(-0.01, 0.02, 8, workers), claim_of(Claim::Kind::better))
        .seeds_to_show.value();
  };
  CHECK(seeds_at({2, 4, 8}) > seeds_at({4}));
}

TEST_CASE("what no number of seeds can show is not promised") {
  const auto compared_at = [](double at_four, double at_sixteen) {
    return compared(
        [&](const std::string& algorithm, std::uint64_t seed, int workers) {
          const double odd = static_cast<double>((seed * 7) % 5) - 2;
          return algorithm == "ar-sgd" ? 2.0
                                       : 2 + (workers == 4 ? at_four : at_sixteen) + 0.02 * odd;
        },
        {4, 16});
  };
  const auto judged_with_doubt = [](Comparison comparison) {
    for (ComparedGroup& group : comparison.groups)
      if (group.settings["workers"]["count"] == 16) group.bends["eval_loss"] = 1;
    return judged(comparison, claim_of(Claim::Kind::better));
  };
  // Only at 16 workers there is something against it, which is not told.
  const JudgedClaim hidden = judged_with_doubt(compared_at(-0.5, 0.01));
  CHECK_FALSE(hidden.seeds_to_show);
  CHECK(has(hidden.why, "besides, workers.count = 16: the difference is no further"));
  CHECK_FALSE(has(hidden.why, "with 80 % power"));
  // At 4 workers more seeds tell against it.
  CHECK(has(judged_with_doubt(compared_at(0.01, 0.02)).why,
            " seeds show that it is not so with 80 % power"));
}

}  // namespace acid::claimed
