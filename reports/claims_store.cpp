// What a store knows of claims: whether they were written before the runs that decide.
#include <algorithm>

#include "reports/claims.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

bool has_claim(const nlohmann::json& comparison, const std::string& digest) {
  const std::vector<Claim> claims = claims_from(comparison);
  return std::ranges::find(claims, digest, &Claim::digest) != claims.end();
}

/// The runs that decide: of the claim's algorithms and seeds.
std::vector<std::string> decisive(const Claim& claim, const std::vector<RunSummary>& runs) {
  std::vector<std::string> ids;
  for (const RunSummary& run : runs)
    if ((run.label == claim.algorithm || run.label == claim.than) &&
        std::ranges::binary_search(claim.seeds, run.seed))
      ids.push_back(run.id);
  return ids;
}

}  // namespace

std::vector<JudgedClaim> judge_claims(const Store& store, const Comparison& comparison,
                                      const AskedRuns& asked, const std::vector<Claim>& claims) {
  std::vector<JudgedClaim> judged = judge_claims(comparison, claims);
  if (judged.empty()) return judged;
  const std::vector<RunSummary> runs = runs_as_asked(store, asked);
  std::map<std::vector<std::string>, std::vector<nlohmann::json>> before;
  for (JudgedClaim& one : judged) {
    const std::vector<std::string> ids = decisive(one.claim, runs);
    const auto [found, is_new] = before.try_emplace(ids);
    if (is_new) found->second = comparisons_before_runs(store, ids);
    one.registered = std::ranges::any_of(found->second, [&](const nlohmann::json& comparison) {
      return has_claim(comparison, one.claim.digest);
    });
  }
  return judged;
}

}  // namespace acid
