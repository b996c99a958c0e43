#include "exports/crate.hpp"

#include <algorithm>

#include "exports/crate_parts.hpp"
#include "exports/points.hpp"
#include "reports/claims.hpp"
#include "reports/compare.hpp"
#include "reports/compare_formats.hpp"
#include "reports/html.hpp"
#include "store/copy_runs.hpp"

namespace acid {
namespace {

using nlohmann::json;

void require_compared(const Store& store, const AskedRuns& asked) {
  if (without_searches(store, asked).ids.empty())
    throw UsageError(
        "there is nothing to compare in the crate: these runs were all tried by a search; 'acid "
        "run' of its recipe goes on with it, --without tables publishes what it tried");
}

/// The runs that the crate's tables compare, as arguments: by their experiments where these name
/// the crate's runs in their order, else by their ids.
std::string compared_arguments(const Store& store, const AskedRuns& asked) {
  std::vector<std::string> names = asked.experiments;
  if (names.empty() || resolve_runs(store, names).ids != asked.ids)
    names = without_searches(store, asked).ids;
  std::string arguments;
  for (const std::string& name : names) arguments += " " + name;
  return arguments;
}

CrateContent read_content(const Store& store, const AskedRuns& asked) {
  CrateContent content;
  for (const RunSummary& run : runs_as_asked(store, asked)) {
    content.runs.push_back(run_detail(store, run.id));
    content.runs.back().summary = run;
    const ExperimentRecord experiment = experiment_of(store, run.experiment);
    auto& all = content.experiments;
    const auto found = std::ranges::find_if(
        all, [&](const auto& known) { return known.first.id == experiment.id; });
    content.experiment_of_run.push_back(
        experiment.id.empty() ? asked.ids.size()  // more than there can be experiments
                              : static_cast<std::size_t>(found - all.begin()));
    if (!experiment.id.empty() && found == all.end())
      all.emplace_back(experiment, "recipes/" + experiment.id + ".toml");
  }
  if (content.experiments.size() == 1) content.experiments.front().second = "recipe.toml";
  return content;
}

bool has_all_models(const CrateContent& content) {
  return std::ranges::all_of(content.runs, [](const RunDetail& run) {
    return !run.result || std::ranges::all_of(run.result->artifacts, [](const auto& artifact) {
      return artifact.removed.empty();
    });
  });
}

json environments(const CrateContent& content) {
  json all = json::array();
  for (const RunDetail& run : content.runs)
    for (const AttemptRow& attempt : run.attempts) {
      // Facts of this run alone would make all environments different.
      json environment = attempt.environment;
      if (environment.is_object())
        for (const char* own : {"command_line", "plan_sha256"}) environment.erase(own);
      const json name{{"run", run.summary.id}, {"attempt", attempt.number}};
      const auto same = std::ranges::find_if(
          all, [&](const json& known) { return known["environment"] == environment; });
      if (same == all.end())
        all.push_back({{"environment", environment}, {"attempts", json::array({name})}});
      else
        (*same)["attempts"].push_back(name);
    }
  return {{"environments", all}};
}

std::string sums(const std::map<std::string, StagedFile>& files) {
  std::string text;
  for (const auto& [path, file] : files) text += file.sha256 + "  " + path + "\n";
  return text;
}

/// All that the store gives; `whole`: not only what every crate has.
void add_tables(const Store& store, const AskedRuns& asked, const CrateContent& content,
                StagedFolder& folder, const RunJson& run_json, const RunsDone& done, bool whole) {
  for (const auto& [experiment, path] : content.experiments)
    folder.add(path, experiment.recipe_text);
  if (const json claims = verdicts_on(store, claimed_by(store, asked)).rows; !claims.empty())
    folder.add("claims.json", indented({{"claims", claims}}));
  if (!whole) return;
  for (const RunDetail& run : content.runs) {
    const std::string runs_folder = "runs/" + run.summary.id;
    folder.add(runs_folder + "/run.json", indented(run_json(run)));
    folder.add(runs_folder + "/settings.json", indented(run.settings));
  }
  folder.add("metrics.csv", [&](const Write& write) { write_long_csv(store, asked, write, done); });
  const AskedRuns chosen = without_searches(store, asked);
  const Comparison comparison = compare(store, chosen);
  folder.add("comparison.json", indented(to_json(comparison)));
  folder.add("comparison.md", to_markdown(comparison));
  folder.add("environments.json", indented(environments(content)));
  folder.add("ro-crate-preview.html", render_report(store, chosen));
}

}  // namespace

CrateBuild build_of(const AttemptRow& attempt) {
  const json& environment = attempt.environment;
  const auto text = [&](const char* key) {
    const bool there = environment.is_object() && environment.contains(key);
    return there && environment[key].is_string() ? environment[key].get<std::string>()
                                                 : std::string();
  };
  return {text("acid_version"), text("git_commit"), text("git_diff_sha256")};
}

std::vector<CrateBuild> builds_of(const CrateContent& content) {
  std::vector<CrateBuild> builds;
  for (const RunDetail& run : content.runs)
    for (const AttemptRow& attempt : run.attempts)
      if (std::ranges::find(builds, build_of(attempt)) == builds.end())
        builds.push_back(build_of(attempt));
  return builds;
}

void add_crate_tables(const Store& store, const AskedRuns& asked, StagedFolder& folder,
                      const RunJson& run_json, const RunsDone& done, bool whole) {
  add_tables(store, asked, read_content(store, asked), folder, run_json, done, whole);
}

void fill_crate(const Store& store, const AskedRuns& asked, StagedFolder& folder,
                const CrateStatement& statement, const RunJson& run_json, const RunsDone& done) {
  require_finished(store, asked.ids, "publish");
  if (statement.parts.tables) require_compared(store, asked);
  const std::string place = folder.place_of(kCrateStore);
  copy_runs(store, with_plans_of_claims(store, asked), place,
            statement.parts.models ? FinalModels::copied : FinalModels::left_out);
  folder.adopt(kCrateStore);

  const Store copy(place, Store::Access::read);  // everything below shows one moment
  CrateContent content = read_content(copy, asked);
  add_tables(copy, asked, content, folder, run_json, done, statement.parts.tables);
  content.statement = statement;
  content.statement.parts.models = has_all_models(content);
  content.compared = compared_arguments(copy, asked);
  content.claims = folder.files().contains("claims.json");
  json left_out = json::array();
  if (!content.statement.parts.models) left_out.push_back("models");
  if (!statement.parts.tables) left_out.push_back("tables");
  folder.add("asked.json", indented({{"acid_version", statement.acid.version},
                                     {"git_commit", statement.acid.commit},
                                     {"experiments", asked.experiments},
                                     {"runs", asked.ids},
                                     {"left_out", left_out}}));
  folder.add("REPRODUCE.md", crate_reproduce(content));
  folder.add("ro-crate-metadata.json", indented(crate_metadata(content, folder.files())));
  folder.add("SHA256SUMS", sums(folder.files()));
}

}  // namespace acid
