// What a store knows of claims: what they say, and whether they were written before the runs that
// decide.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "reports/claims.hpp"
#include "reports/equal_places.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> kKindNames{"better", "equivalent", "ratio", "crossover",
                                                     "law"};

bool has_claim(const json& comparison, const std::string& digest) {
  const std::vector<Claim> claims = claims_from(comparison);
  return std::ranges::find(claims, digest, &Claim::digest) != claims.end();
}

using LabelledRuns = std::vector<std::pair<std::string, std::string>>;  // ids and labels

/// Whether it is of the claim's algorithms and seeds.
bool decides(const RunSummary& run, const Claim& claim) {
  return (run.label == claim.algorithm || run.label == claim.than) &&
         std::ranges::binary_search(claim.seeds, run.seed);
}

/// For each claim, the experiment whose plan had it first, before the runs that decide began;
/// empty: none.
std::vector<std::string> planned_by(const Store& store, const std::vector<RunSummary>& runs,
                                    const std::vector<Claim>& claims) {
  std::map<LabelledRuns, std::vector<StoredPlan>> before;
  std::vector<std::string> experiments;
  for (const Claim& claim : claims) {
    LabelledRuns decisive;
    for (const RunSummary& run : runs)
      if (decides(run, claim)) decisive.emplace_back(run.id, run.label);
    const auto [plans, is_new] = before.try_emplace(decisive);
    if (is_new) plans->second = plans_before_runs(store, decisive);
    const auto first = std::ranges::find_if(plans->second, [&](const StoredPlan& plan) {
      return has_claim(plan.comparison, claim.digest);
    });
    experiments.push_back(first == plans->second.end() ? "" : first->experiment);
  }
  return experiments;
}

}  // namespace

std::string_view name_of(Claim::Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::vector<Claim> claims_from(const json& comparison) {
  std::vector<Claim> claims;
  if (!comparison.is_object() || !comparison.contains("claims")) return claims;
  try {
    for (const json& one : comparison.at("claims")) {
      Claim claim;
      claim.name = one.at("name");
      const auto kind = std::ranges::find(kKindNames, one.at("kind").get<std::string>());
      if (kind == kKindNames.end()) throw std::invalid_argument("a kind");
      claim.kind = static_cast<Claim::Kind>(kind - kKindNames.begin());
      claim.algorithm = one.at("algorithm");
      claim.than = one.value("than", "");
      claim.metric = one.at("metric");
      const std::string at = one.at("at");
      for (const PositionAxis axis : kEqualAxes)
        if (at == name_of(axis)) claim.equal = axis;
      for (const char* const key : {"by", "margin", "within"})
        if (const json margin = one.value(key, json()); margin.is_object())
          claim.margin = {margin.at("value"), margin.at("relative")};
      if (claim.kind == Claim::Kind::law) claim.formula = one.at("formula");
      if (claim.kind == Claim::Kind::ratio) {
        claim.low = one.at("bounds").at(0);
        claim.high = one.at("bounds").at(1);
      }
      if (claim.kind == Claim::Kind::crossover) {
        claim.key = one.at("key");
        claim.first = one.at("between").at(0);
        claim.second = one.at("between").at(1);
      }
      for (const auto& [key, value] : one.at("where").items()) claim.where.emplace_back(key, value);
      claim.level = one.at("level");
      claim.points = one.value("points", std::size_t{0});
      claim.seeds = one.at("seeds").get<std::vector<std::uint64_t>>();
      claim.digest = sha256_hex(one.dump());
      claims.push_back(std::move(claim));
    }
  } catch (const std::exception&) {
    throw StoreError(
        "what an experiment's [[claims]] say is not as acid wrote it: somebody altered the "
        "database, or another version wrote it; 'acid run RECIPE' stores it again");
  }
  return claims;
}

std::set<std::string> late_claims(const Store& store, const std::vector<Claim>& claims,
                                  const std::vector<RunSummary>& runs) {
  const std::vector<std::string> planned = planned_by(store, runs, claims);
  std::set<std::string> late;
  for (std::size_t k = 0; k < claims.size(); ++k)
    if (planned[k].empty() && std::ranges::any_of(runs, [&](const RunSummary& run) {
          return run.state != RunState::planned && decides(run, claims[k]);
        }))
      late.insert(claims[k].digest);
  return late;
}

std::vector<JudgedClaim> judge_claims(const Store& store, const Comparison& comparison,
                                      const AskedRuns& asked, const std::vector<Claim>& claims) {
  std::vector<JudgedClaim> judged = judge_claims(comparison, claims);
  if (judged.empty()) return judged;
  const std::vector<std::string> planned = planned_by(store, runs_as_asked(store, asked), claims);
  for (std::size_t k = 0; k < judged.size(); ++k) judged[k].registered = !planned[k].empty();
  return judged;
}

std::vector<JudgedClaim> Claimed::judge(const Store& store) const {
  return judge_claims(store, compare(store, runs), runs, claims);
}

json Claimed::to_json(const std::vector<JudgedClaim>& judged) const {
  json list = acid::to_json(judged);
  for (json& row : list) row["experiment"] = name;
  return list;
}

std::vector<Claimed> claimed_by(const Store& store, const AskedRuns& asked) {
  const AskedRuns chosen = without_searches(store, asked);
  const std::set<std::string> compared(chosen.ids.begin(), chosen.ids.end());
  std::vector<Claimed> all;
  const auto add = [&](const std::string& experiment, std::vector<std::string> ids) {
    const ExperimentRecord record = experiment_of(store, experiment);
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
    if (!ids.empty()) add(id, std::move(ids));
  }
  std::map<std::string, std::vector<std::string>> others;  // by experiment
  for (const RunSummary& run : runs_as_asked(store, asked))
    if (left.contains(run.id)) others[run.experiment].push_back(run.id);
  for (auto& [experiment, ids] : others) add(experiment, std::move(ids));
  std::erase_if(all, [](const Claimed& one) { return one.claims.empty(); });
  return all;
}

Verdicts verdicts_on(const Store& store, const std::vector<Claimed>& claimed, int columns) {
  Verdicts all;
  for (const Claimed& one : claimed) {
    const std::vector<JudgedClaim> judged = one.judge(store);
    for (const JudgedClaim& claim : judged) all.all_hold &= claim.verdict == ClaimVerdict::holds;
    for (json& row : one.to_json(judged)) all.rows.push_back(std::move(row));
    if (claimed.size() > 1) all.text += one.name + "\n";
    all.text += to_text(judged, columns);
  }
  return all;
}

AskedRuns with_plans_of_claims(const Store& store, const AskedRuns& asked) {
  AskedRuns with = asked;
  if (asked.experiments.empty()) return with;  // copied with all experiments that ask for the runs
  for (const Claimed& one : claimed_by(store, asked))
    for (const std::string& plan : planned_by(store, runs_as_asked(store, one.runs), one.claims))
      if (!plan.empty() && std::ranges::find(with.experiments, plan) == with.experiments.end())
        with.experiments.push_back(plan);
  return with;
}

}  // namespace acid
