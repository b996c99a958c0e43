// What a store knows of claims: the runs that decide, and when the claims were written.
#include <algorithm>

#include "reports/claims.hpp"
#include "reports/compare.hpp"
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

std::vector<JudgedClaim> Claimed::judge(const Store& store) const {
  return judge_claims(store, compare(store, runs), runs.ids, claims);
}

nlohmann::json Claimed::to_json(const std::vector<JudgedClaim>& judged) const {
  nlohmann::json list = acid::to_json(judged);
  for (nlohmann::json& row : list) row["experiment"] = name;
  return list;
}

std::vector<Claimed> claimed_by(const Store& store, const AskedRuns& asked) {
  const std::vector<std::string> searched = runs_of_searches(store, asked.experiments);
  std::vector<Claimed> all;
  std::vector<std::string> experiments;
  for (const RunSummary& run : runs_as_asked(store, asked)) {
    if (std::ranges::find(searched, run.id) != searched.end()) continue;
    auto known = std::ranges::find(experiments, run.experiment);
    if (known == experiments.end()) {
      const ExperimentRecord record = experiment_of(store, run);
      experiments.push_back(run.experiment);
      all.push_back({record.name, claims_from(record.comparison), {}});
      if (!run.experiment.empty()) all.back().runs.experiments.push_back(run.experiment);
      known = experiments.end() - 1;
    }
    all[static_cast<std::size_t>(known - experiments.begin())].runs.ids.push_back(run.id);
  }
  std::erase_if(all, [](const Claimed& one) { return one.claims.empty(); });
  return all;
}

}  // namespace acid
