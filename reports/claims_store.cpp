// What a store knows of claims: whether they were written before the runs that decide.
#include <algorithm>
#include <map>
#include <set>

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

bool is_in_one_of(const std::vector<StoredPlan>& plans, const Claim& claim) {
  return std::ranges::any_of(
      plans, [&](const StoredPlan& plan) { return has_claim(plan.comparison, claim.digest); });
}

}  // namespace

std::set<std::string> late_claims(const Store& store, const std::vector<Claim>& claims,
                                  const std::vector<RunSummary>& runs) {
  std::set<std::string> begun, late;
  RunFilter filter;
  for (const RunSummary& run : runs) filter.ids.push_back(run.id);
  if (claims.empty() || runs.empty()) return late;
  for (const RunSummary& run : list_runs(store, filter))
    if (run.state != RunState::planned) begun.insert(run.id);
  for (const Claim& claim : claims) {
    const LabelledRuns decide = decisive(claim, runs);
    const bool any =
        std::ranges::any_of(decide, [&](const auto& run) { return begun.contains(run.first); });
    if (any && !is_in_one_of(plans_before_runs(store, decide), claim)) late.insert(claim.digest);
  }
  return late;
}

std::vector<JudgedClaim> judge_claims(const Store& store, const Comparison& comparison,
                                      const AskedRuns& asked, const std::vector<Claim>& claims) {
  std::vector<JudgedClaim> judged = judge_claims(comparison, claims);
  if (judged.empty()) return judged;
  const std::vector<RunSummary> runs = runs_as_asked(store, asked);
  std::map<LabelledRuns, std::vector<StoredPlan>> before;
  for (JudgedClaim& one : judged) {
    const LabelledRuns decide = decisive(one.claim, runs);
    const auto [found, is_new] = before.try_emplace(decide);
    if (is_new) found->second = plans_before_runs(store, decide);
    const auto plan = std::ranges::find_if(found->second, [&](const StoredPlan& stored) {
      return has_claim(stored.comparison, one.claim.digest);
    });
    one.registered = plan != found->second.end();
    if (*one.registered) one.registered_by = plan->experiment;
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
  std::set<std::string> compared(asked.ids.begin(), asked.ids.end());
  for (const std::string& id : searched) compared.erase(id);
  std::vector<Claimed> all;
  const auto add = [&](const RunSummary& of_experiment, std::vector<std::string> ids) {
    const ExperimentRecord record = experiment_of(store, of_experiment);
    all.push_back({record.name, claims_from(record.comparison), AskedRuns(std::move(ids))});
    if (!record.id.empty()) all.back().runs.experiments.push_back(record.id);
  };
  // An experiment that is named is judged as its recipe says, also if it shares its runs.
  std::set<std::string> left = compared;
  const std::vector<ExperimentSummary> stored = list_experiments(store);
  for (const std::string& id : asked.experiments) {
    const auto experiment = std::ranges::find(stored, id, &ExperimentSummary::id);
    if (experiment == stored.end()) continue;
    std::vector<std::string> ids;
    for (const RunSummary& run : experiment->runs)
      if (compared.contains(run.id)) ids.push_back(run.id);
    for (const std::string& run : ids) left.erase(run);
    if (!ids.empty()) add(experiment->runs.front(), std::move(ids));
  }
  std::map<std::string, std::vector<RunSummary>> others;  // by experiment
  for (const RunSummary& run : runs_as_asked(store, asked))
    if (left.contains(run.id)) others[run.experiment].push_back(run);
  for (const auto& [experiment, runs] : others) {
    std::vector<std::string> ids;
    for (const RunSummary& run : runs) ids.push_back(run.id);
    add(runs.front(), std::move(ids));
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

AskedRuns with_plans_of_claims(const Store& store, const AskedRuns& asked) {
  AskedRuns with = asked;
  if (asked.experiments.empty()) return with;  // copied with all experiments that ask for the runs
  for (const Claimed& one : claimed_by(store, asked))
    for (const JudgedClaim& judged : one.judge(store))
      if (!judged.registered_by.empty() &&
          std::ranges::find(with.experiments, judged.registered_by) == with.experiments.end())
        with.experiments.push_back(judged.registered_by);
  return with;
}

}  // namespace acid
