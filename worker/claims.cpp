#include "worker/claims.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/models/blas_core.hpp"
#include "recipes/digest.hpp"
#include "worker/resume.hpp"

namespace acid {
namespace {

using nlohmann::json;

class Claims {
 public:
  template <class A, class B>
  void expect(const A& is, const B& said, const char* what) {
    if (!(is == said)) untrue.push_back(fmt::format("{} is {}, said to be {}", what, is, said));
  }
  std::vector<std::string> untrue;
};

// Checks the columns that lists, filters and comparisons use, beside the settings that are
// executed.
void check_columns(const RunSummary& run, const RunSettings& settings, Claims& claims) {
  claims.expect(settings.seed, run.seed, "the seed");
  claims.expect(text(settings.algorithm, "kind"), run.algorithm, "the algorithm");
  claims.expect(graph_name(settings.topology), run.topology, "the topology");
  claims.expect(settings.execution.entry().name, run.driver, "the driver");
  claims.expect(settings.workers, run.workers, "the number of workers");
  claims.expect(settings.budget.gradients, run.budget_gradients, "the budget of gradients");
}

void check_digests(const RunDetail& detail, const json& algorithm, Claims& claims) {
  const RunSummary& run = detail.summary;
  Facts facts;
  json canonical = without_paths(detail.settings, facts);
  const std::string digest = canonical_digest(canonical);
  claims.expect(digest, run.digest, "the digest of the settings");
  claims.expect(digest.substr(0, run.id.size()), run.id, "the run's id");
  // Where a run's own edges have numbers that count, the group's digest has the recipe's numbers.
  if (numbers_are_of_seed(algorithm)) return;
  canonical.erase("seed");
  claims.expect(canonical_digest(canonical), run.group, "the digest of the run's group");
}

void check_plan(const json& plan, const json& algorithm, Claims& claims) {
  for (const Shown& shown : shown_by({text(algorithm, "kind")})) {
    const std::string key(shown.key);
    claims.expect(algorithm.value(key, json()).dump(), plan.value(key, json()).dump(), key.c_str());
  }
}

/// The newest attempt, and those whose checkpoints it continued: the others do not count.
std::vector<const AttemptRow*> counting_attempts(const RunDetail& run) {
  std::vector<const AttemptRow*> counting;
  int number = run.attempts.empty() ? 0 : run.attempts.back().number;
  for (auto attempt = run.attempts.rbegin(); attempt != run.attempts.rend(); ++attempt) {
    if (attempt->number != number) continue;
    counting.push_back(&*attempt);
    const auto cut =
        std::ranges::find(run.checkpoints, attempt->resumed_from, &CheckpointRow::number);
    number = cut == run.checkpoints.end() ? 0 : cut->attempt;
  }
  return counting;
}

void check_seeds(const AttemptRow& attempt, bool is_newest, json derived, Claims& claims) {
  if (event_version(attempt) < 2) {  // acid did not record these then
    for (const char* purpose :
         {"data_set_train", "data_set_test", "data_set_task", "topology", "training_sample"})
      derived.erase(purpose);
    derived["workers"].erase("data_set");
  }
  const std::string whose = is_newest ? "" : fmt::format(" of attempt {}", attempt.number);
  for (const auto& [purpose, value] : derived.items())
    if (!attempt.seeds.is_object() || attempt.seeds.value(purpose, json()) != value)
      claims.untrue.push_back(
          fmt::format("the seeds{} for '{}' are not those of the run's seed", whose, purpose));
}

void check_files(const Recording& recording, Claims& claims) {
  for (const std::string& file : recording.altered_files)
    claims.untrue.push_back(file + " was altered since it was written");
  const auto is_empty = [](const auto& log) { return log.empty(); };
  // A run whose seconds end before its first round or meeting has none.
  const RunSummary& run = recording.run.summary;
  const auto exchanges = run.metrics.find("exchanges");
  const bool has_happened =
      run.progress.gradients > 0 || (exchanges != run.metrics.end() && exchanges->second > 0);
  if (has_happened && !recording.events.empty() &&
      std::all_of(recording.events.begin(), recording.events.end(), is_empty))
    claims.untrue.push_back("the event log is gone");
  const auto& result = recording.run.result;
  if (recording.run.summary.state != RunState::finished || !result) return;
  const auto is_mean = [](const auto& artifact) { return artifact.role == "final-mean"; };
  if (std::none_of(result->artifacts.begin(), result->artifacts.end(), is_mean))
    claims.untrue.push_back("there is no record of the final model");
}

}  // namespace

bool settings_have_their_digest(const RunDetail& run) {
  try {
    Facts facts;
    return canonical_digest(without_paths(run.settings, facts)) == run.summary.digest;
  } catch (const std::exception&) {  // the settings do not even have the right form
    return false;
  }
}

void refuse_altered_settings(const RunDetail& run) {
  bool names_files = false;
  try {
    json settings = run.settings;
    for_each_path(settings, [&](json&) { names_files = true; });
  } catch (const json::exception&) {  // then no digest can match
  }
  if (!names_files && !settings_have_their_digest(run))
    throw StoreError(
        fmt::format("the settings of run {} do not have the run's digest: the database was altered "
                    "outside acid; 'acid run RECIPE' stores them again",
                    run.summary.id));
}

RunSettings stored_settings(const RunDetail& run) {
  try {
    return settings_from(run.settings);
  } catch (const StoreError&) {
    refuse_altered_settings(run);
    throw;
  }
}

void keep_blas_core(const RunDetail& run) {
  if (run.attempts.empty()) return;
  const nlohmann::json::json_pointer core("/model_runtime/blas_core");
  prefer_blas_core(run.attempts.back().environment.value(core, std::string()));
}

std::unique_ptr<ComposedRun> compose_stored(const RunDetail& run, const RunSettings& settings,
                                            int cores) {
  try {
    return compose(settings, cores);
  } catch (const Error&) {  // the environment has changed; for example, a file is gone
    throw;
  } catch (const std::exception&) {
    refuse_altered_settings(run);
    throw;
  }
}

std::vector<std::string> false_claims(const Recording& recording, const ComposedRun& run,
                                      const json& changed) {
  const RunDetail& detail = recording.run;
  Claims claims;
  if (changed.contains("data"))  // then no digest can be what it was either
    claims.untrue.push_back(fmt::format("what it reads is not what it was: then {}, now {}",
                                        side_of_difference("data", changed["data"].at(0)),
                                        side_of_difference("data", changed["data"].at(1))));
  else
    check_digests(detail, run.settings.algorithm, claims);
  check_columns(detail.summary, run.settings, claims);
  check_plan(detail.plan, run.settings.algorithm, claims);
  const json seeds = derived_seeds(run.settings);
  for (const AttemptRow* attempt : counting_attempts(detail))
    check_seeds(*attempt, attempt == &detail.attempts.back(), seeds, claims);
  if (!detail.holdings.empty() && changed.empty() && detail.holdings != run.objective->holdings())
    claims.untrue.push_back("the workers hold other examples than it says");
  check_files(recording, claims);
  for (const std::string& wrong : recording.wrong_summaries) claims.untrue.push_back(wrong);
  for (const std::string& altered : recording.altered_words) claims.untrue.push_back(altered);
  return std::move(claims.untrue);
}

}  // namespace acid
