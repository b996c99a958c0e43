#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// What a recipe claims of its runs before they are executed ([[claims]]).
struct Claim {
  enum class Kind { better, equivalent, ratio, crossover, law };
  std::string name;
  Kind kind = Kind::better;
  std::string algorithm, than;        // labels; a law has no other
  std::string metric;                 // an outcome or a total of a run
  std::optional<PositionAxis> equal;  // read where its runs have come equally far; else at the end
  Margin margin;                      // better: by at least, may be 0; equivalent; law: within
  double low = 0, high = 0;           // ratio
  std::string formula;                // law: an expression over recipe keys (store/filter.hpp)
  std::string key;                    // crossover: better at `first`, worse at `second`
  nlohmann::json first, second;
  std::vector<std::pair<std::string, nlohmann::json>> where;  // values of swept keys
  double level = 0.05;
  std::vector<std::uint64_t> seeds;  // that decide; ascending
  std::size_t points = 0;            // settings that it is about, at least
  std::string digest;                // SHA-256 of all this: an altered claim has another one

  /// Whether it has two sides, which are tested each.
  bool is_range() const { return kind != Kind::better && kind != Kind::crossover; }
  /// Its algorithms and seeds: no other run settles where it is read.
  Readers readers() const { return {{algorithm, than}, seeds}; }
  /// "A²CiD² is better than AD-PSGD in evaluation loss at equal gradients by 0.01 at least".
  std::string words() const;
};
std::string_view name_of(Claim::Kind kind);

/// The claims in ExperimentRecord::comparison. StoreError if acid did not write them like that.
std::vector<Claim> claims_from(const nlohmann::json& comparison);

/// What a law's formula says of runs with these settings. UsageError, which names the claim, if it
/// is none, or names what they do not have.
double said_by_law(const Claim& claim, const nlohmann::json& settings);

enum class ClaimVerdict { holds, does_not_hold, cannot_be_told };
std::string_view name_of(ClaimVerdict verdict);

/// A claim, and what the runs say of it. All claims of a recipe are one family: p and counter_p are
/// adjusted by Holm, each over the family.
struct JudgedClaim {
  Claim claim;
  ClaimVerdict verdict = ClaimVerdict::cannot_be_told;
  /// Of the point that decides: the first minus the other, or minus what the law says, in the
  /// metric's unit; of a ratio the geometric mean. The interval is Student's t at 95 %, without
  /// correction. Over the seeds with a finite value of both; p are over all pairs.
  Estimate estimate;
  int pairs = 0;  // 0: nothing was tested
  PairedTest test = PairedTest::sign_flip;
  std::string at;    // its settings, of equal p that of the least advantage; empty: there is one
  std::string read;  // where in the runs its values were read; empty: at their ends
  /// That the claim is not true: the largest over its points of exact one-sided tests, paired by
  /// seed, so that a claim over several points holds only if it holds at each. counter_p: that it
  /// is true, by the smallest over its points, times their number.
  std::optional<double> p, counter_p;
  std::optional<double> p_holm, counter_p_holm;
  std::string why;    // it cannot be told, and what would be needed; empty: it can
  std::string doubt;  // why a small p shows nothing; empty: it does. counter_p is of points without
  std::optional<int> seeds_to_show;
  /// Stored before the first of its runs began; absent: not known (judge_claims() does not).
  std::optional<bool> registered;
  /// Names of claims that were stored with this one before the runs and are no longer there. They
  /// count in the family.
  std::vector<std::string> left_out;
};

/// Judges claims by comparisons of the runs, one for each claim, of which its metric was read.
/// `left_out`: claims that only count in the family.
std::vector<JudgedClaim> judge_claims(const std::vector<const Comparison*>& comparisons,
                                      const std::vector<Claim>& claims,
                                      const std::vector<Claim>& left_out = {});

/// The same by a comparison of these runs of a store, which also knows whether the claims were
/// written before the runs.
std::vector<JudgedClaim> judge_claims(const Store& store, const Comparison& comparison,
                                      const AskedRuns& asked, const std::vector<Claim>& claims);

/// An experiment, or a recipe, with the runs that its claims are about.
struct Claimed {
  std::string name;
  std::vector<Claim> claims;
  AskedRuns runs;

  std::vector<JudgedClaim> judge(const Store& store) const;
  nlohmann::json to_json(const std::vector<JudgedClaim>& judged) const;
};
/// The experiments of these runs that claim something, each with its runs among them; runs that a
/// search tried are left out.
std::vector<Claimed> claimed_by(const Store& store, const AskedRuns& asked);
/// The same runs and experiments, and those experiments whose plans show that claims are older than
/// the runs. A copy of them shows it, too.
AskedRuns with_plans_of_claims(const Store& store, const AskedRuns& asked);

/// What the runs say of several recipes' claims.
struct Verdicts {
  nlohmann::json rows = nlohmann::json::array();  // Claimed::to_json() of each
  std::string text;                               // under names where there are several
  bool all_hold = true;
};
/// `columns`: of the text, at most.
Verdicts verdicts_on(const Store& store, const std::vector<Claimed>& claimed, int columns = 80);

/// The digests of the claims that would be stored after the first of the runs that decide them
/// began. `runs`: of the recipe, by its labels; of a run only id, label, seed and state are
/// read. `settings`: parallel to them.
std::set<std::string> late_claims(const Store& store, const std::vector<Claim>& claims,
                                  const std::vector<RunSummary>& runs,
                                  const std::vector<nlohmann::json>& settings);

/// The smallest p that the claim can get in its family, by Holm: every claim has the smallest p
/// that its seeds can give.
double smallest_p_of(const Claim& claim, const std::vector<Claim>& family);
/// The chance that a claim holds with so many seeds, in a family of `claims`, if the mean of what
/// it tests (the advantage beyond the margin) is `effect` of its standard deviations at each of its
/// settings, and on both sides of a range: power_at_each() of reports/power.hpp.
double power_of_claim(const Claim& claim, int seeds, double effect, std::size_t claims);
/// What `acid plan` says of claims: what each has to show, with how many seeds, and what they can
/// show. Lines of at most `columns`.
/// `late`: digests, of late_claims().
std::string planned_words(const std::vector<Claim>& claims, const std::set<std::string>& late,
                          int columns);
nlohmann::json planned_json(const std::vector<Claim>& claims, const std::set<std::string>& late);

/// "-0.031 [-0.042, -0.02], p = 0.0078": what was found; empty if there is nothing. Says where the
/// estimate is over fewer seeds than the p, and where the p is of ranks.
std::string found(const JudgedClaim& judged);
/// Says that the claim is younger than its first run, or that others were left out; empty if there
/// is nothing to say.
std::string registered_words(const JudgedClaim& judged);
std::string to_text(const std::vector<JudgedClaim>& claims, int columns);
nlohmann::json to_json(const std::vector<JudgedClaim>& claims);

}  // namespace acid
