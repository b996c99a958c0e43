// What a store knows of claims: the runs that decide, and when the claims were written.
#include <algorithm>

#include "reports/claims.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

bool has_claim(const StoredPlan& plan, const std::string& digest) {
  const std::vector<Claim> claims = claims_from(plan.comparison);
  return std::ranges::find(claims, digest, &Claim::digest) != claims.end();
}

}  // namespace

std::vector<JudgedClaim> judge_claims(const Store& store, const Comparison& comparison,
                                      const std::vector<std::string>& run_ids,
                                      const std::vector<Claim>& claims) {
  std::vector<JudgedClaim> judged = judge_claims(comparison, claims);
  if (judged.empty()) return judged;
  const std::string begun = first_start_of(store, run_ids);
  const std::vector<StoredPlan> plans = plans_before(store, begun);
  for (JudgedClaim& one : judged)
    one.registered = std::ranges::any_of(
        plans, [&](const StoredPlan& plan) { return has_claim(plan, one.claim.digest); });
  return judged;
}

}  // namespace acid
