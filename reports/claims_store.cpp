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
#include "reports/compare.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/settings.hpp"
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

/// Whether the metric of a run depends on the other runs at all settings of the sweep: one run has
/// one value of it for all.
bool is_read_beside_all(const std::string& metric) {
  return metric == kMidConsensus || is_to_target(metric);
}

/// Whether runs with these settings are at the points that the claim chooses. A key that a run does
/// not read has no value: the run is at all points.
bool is_chosen(const FlatSettings& settings, const Claim& claim) {
  if (is_read_beside_all(claim.metric)) return true;
  const json& crossed = claim.key.empty() ? json() : value_at(settings, claim.key);
  return (crossed.is_null() || crossed == claim.first || crossed == claim.second) &&
         std::ranges::all_of(claim.where, [&](const auto& wanted) {
           const json& value = value_at(settings, wanted.first);
           return value.is_null() || value == wanted.second;
         });
}

/// Runs, as a recipe labels them, with their settings.
struct RunsAsked {
  std::vector<RunSummary> runs;
  std::vector<json> settings;  // parallel to them

  RunsAsked(std::vector<RunSummary> these, std::vector<json> their_settings)
      : runs(std::move(these)), settings(std::move(their_settings)) {}
  RunsAsked(const Store& store, const AskedRuns& asked)
      : RunsAsked(runs_as_asked(store, asked), run_settings(store, asked.ids)) {}

  /// Those that decide the claim.
  std::vector<RunSummary> of(const Claim& claim) const {
    std::vector<RunSummary> all;
    const Readers readers = claim.readers();
    for (std::size_t k = 0; k < runs.size(); ++k)
      if (readers.take(runs[k]) && is_chosen(flatten(settings[k]), claim)) all.push_back(runs[k]);
    return all;
  }
};

/// For each claim, the plans that had it before the runs that decide began, oldest first.
std::vector<std::vector<StoredPlan>> planned_by(const Store& store, const RunsAsked& runs,
                                                const std::vector<Claim>& claims) {
  std::map<LabelledRuns, std::vector<StoredPlan>> before;
  std::vector<std::vector<StoredPlan>> plans;
  for (const Claim& claim : claims) {
    LabelledRuns decisive;
    for (const RunSummary& run : runs.of(claim)) decisive.emplace_back(run.id, run.label);
    const auto [known, is_new] = before.try_emplace(decisive);
    if (is_new) known->second = plans_before_runs(store, decisive);
    std::ranges::copy_if(
        known->second, std::back_inserter(plans.emplace_back()),
        [&](const StoredPlan& plan) { return has_claim(plan.comparison, claim.digest); });
  }
  return plans;
}

/// The plan's claims of which `claims` have neither the text nor the name.
std::vector<Claim> missing_among(const std::vector<Claim>& claims, const StoredPlan& plan) {
  std::vector<Claim> missing = claims_from(plan.comparison);
  std::erase_if(missing, [&](const Claim& planned) {
    return std::ranges::any_of(claims, [&](const Claim& one) {
      return one.digest == planned.digest || one.name == planned.name;
    });
  });
  return missing;
}

/// The claims that the plan with the fewest of them had and `claims` lack. Another recipe may have
/// claimed the same of the same runs, and more.
std::vector<Claim> fewest_missing(const std::vector<Claim>& claims,
                                  const std::vector<StoredPlan>& plans) {
  std::optional<std::vector<Claim>> fewest;
  for (const StoredPlan& plan : plans)
    if (std::vector<Claim> missing = missing_among(claims, plan);
        !fewest || missing.size() < fewest->size())
      fewest = std::move(missing);
  return fewest.value_or(std::vector<Claim>());
}

/// For each claim the comparison that is read where its own runs are; `whole` where that is the
/// same.
class OwnComparisons {
 public:
  OwnComparisons(const Store& store, const Comparison& whole, const AskedRuns& asked)
      : store_(store), whole_(whole), asked_(asked) {}

  const Comparison* of(const Claim& claim) {
    const Readers readers = claim.readers();
    const bool all_read = std::ranges::all_of(whole_.groups, [&](const ComparedGroup& group) {
      return std::ranges::all_of(group.runs,
                                 [&](const RunSummary& run) { return readers.take(run); });
    });
    if (all_read || (!claim.equal && !is_read_beside_all(claim.metric))) return &whole_;
    const auto [found, is_new] = own_.try_emplace({readers.labels, readers.seeds});
    if (is_new) {
      CompareOptions options;
      options.readers = readers;
      found->second = compare(store_, asked_, options);
    }
    return &found->second;
  }

 private:
  const Store& store_;
  const Comparison& whole_;
  const AskedRuns& asked_;
  std::map<std::pair<std::vector<std::string>, std::vector<std::uint64_t>>, Comparison> own_;
};

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
                                  const std::vector<RunSummary>& runs,
                                  const std::vector<json>& settings) {
  const RunsAsked asked(runs, settings);
  const auto planned = planned_by(store, asked, claims);
  std::set<std::string> late;
  for (std::size_t k = 0; k < claims.size(); ++k)
    if (planned[k].empty() && std::ranges::any_of(asked.of(claims[k]), [](const RunSummary& run) {
          return run.state != RunState::planned;
        }))
      late.insert(claims[k].digest);
  return late;
}

std::vector<JudgedClaim> judge_claims(const Store& store, const Comparison& comparison,
                                      const AskedRuns& asked, const std::vector<Claim>& claims) {
  if (claims.empty()) return {};
  const auto planned = planned_by(store, RunsAsked(store, asked), claims);
  std::vector<std::vector<Claim>> missing;  // by claim
  std::vector<Claim> left_out;              // each once
  for (const std::vector<StoredPlan>& plans : planned)
    for (const Claim& one : missing.emplace_back(fewest_missing(claims, plans)))
      if (std::ranges::find(left_out, one.digest, &Claim::digest) == left_out.end())
        left_out.push_back(one);
  OwnComparisons own(store, comparison, asked);
  std::vector<const Comparison*> comparisons;
  for (const Claim& claim : claims) comparisons.push_back(own.of(claim));
  std::vector<JudgedClaim> judged = judge_claims(comparisons, claims, left_out);
  for (std::size_t k = 0; k < judged.size(); ++k) {
    judged[k].registered = !planned[k].empty();
    for (const Claim& one : missing[k]) judged[k].left_out.push_back(one.name);
  }
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
    for (const auto& plans : planned_by(store, RunsAsked(store, one.runs), one.claims))
      if (!plans.empty() &&
          std::ranges::find(with.experiments, plans.front().experiment) == with.experiments.end())
        with.experiments.push_back(plans.front().experiment);
  return with;
}

}  // namespace acid
