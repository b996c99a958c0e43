// What a store knows of claims: whether they were written before the runs that decide.
#include <algorithm>

#include "reports/claims.hpp"
#include "reports/compare.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

bool has_claim(const nlohmann::json& comparison, const std::string& digest) {
  const std::vector<Claim> claims = claims_from(comparison);
  return std::ranges::find(claims, digest, &Claim::digest) != claims.end();
}

using LabelledRuns = std::vector<std::pair<std::string, std::string>>;  // ids and labels

/// The runs that decide: of the claim's algorithms and seeds.
LabelledRuns decisive(const Claim& claim, const std::vector<RunSummary>& runs) {
  LabelledRuns all;
  for (const RunSummary& run : runs)
    if ((run.label == claim.algorithm || run.label == claim.than) &&
        std::ranges::binary_search(claim.seeds, run.seed))
      all.emplace_back(run.id, run.label);
  return all;
}

}  // namespace

std::vector<JudgedClaim> judge_claims(const Store& store, const Comparison& comparison,
                                      const AskedRuns& asked, const std::vector<Claim>& claims) {
  std::vector<JudgedClaim> judged = judge_claims(comparison, claims);
  if (judged.empty()) return judged;
  const std::vector<RunSummary> runs = runs_as_asked(store, asked);
  std::map<LabelledRuns, std::vector<nlohmann::json>> before;
  for (JudgedClaim& one : judged) {
    const LabelledRuns decide = decisive(one.claim, runs);
    const auto [found, is_new] = before.try_emplace(decide);
    if (is_new) found->second = comparisons_before_runs(store, decide);
    one.registered = std::ranges::any_of(found->second, [&](const nlohmann::json& comparison) {
      return has_claim(comparison, one.claim.digest);
    });
  }
  return judged;
}

std::vector<JudgedClaim> Claimed::judge(const Store& store) const {
  return judge_claims(store, compare(store, runs), runs, claims);
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

Verdicts verdicts_on(const Store& store, const std::vector<Claimed>& claimed, int columns) {
  Verdicts all;
  for (const Claimed& one : claimed) {
    const std::vector<JudgedClaim> judged = one.judge(store);
    for (const JudgedClaim& claim : judged) all.all_hold &= claim.verdict == ClaimVerdict::holds;
    for (nlohmann::json& row : one.to_json(judged)) all.rows.push_back(std::move(row));
    if (claimed.size() > 1) all.text += one.name + "\n";
    all.text += to_text(judged, columns);
  }
  return all;
}

}  // namespace acid
