#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/claim_check.hpp"
#include "cli/planned_runs.hpp"
#include "cli/recipe_options.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

struct ClaimOptions {
  std::vector<std::string> names;
  Format format;
};

bool is_recipe(const std::string& name) {
  return name.ends_with(".toml") || std::filesystem::is_regular_file(name);
}

Claimed of_recipe(const Store& store, const std::string& path) {
  RecipeOptions recipe;
  recipe.path = path;
  const Plan plan = recipe.compile();
  Claimed claimed{plan.name, claims_from(plan.comparison), {}};
  if (claimed.claims.empty())
    throw UsageError(
        fmt::format("{} has no [[claims]]: docs/CLAIMS.md says how to write them", path));
  if (plan.search) {
    claimed.runs = resolve_runs(store, {plan.name}, OfSearches::without);
    return claimed;
  }
  RunFilter filter;
  filter.ids = ids_of(plan.runs);
  for (const RunSummary& run : list_runs(store, filter)) claimed.runs.ids.push_back(run.id);
  if (claimed.runs.ids.empty())
    throw UsageError(
        fmt::format("the store has no run of {} yet: 'acid run {}' executes them", path, path));
  return claimed;
}

/// The experiments of named runs that claim something, each with its named runs.
std::vector<Claimed> of_names(const Store& store, const std::vector<std::string>& names) {
  const AskedRuns asked = resolve_runs(store, names, OfSearches::without);
  std::vector<Claimed> all;
  std::vector<std::string> experiments;
  for (const RunSummary& run : runs_as_asked(store, asked)) {
    auto known = std::ranges::find(experiments, run.experiment);
    if (known == experiments.end()) {
      const ExperimentRecord record = experiment_of(store, run);
      experiments.push_back(run.experiment);
      all.push_back({record.name, claims_from(record.comparison), {}});
      all.back().runs.experiments.push_back(run.experiment);
      known = experiments.end() - 1;
    }
    all[static_cast<std::size_t>(known - experiments.begin())].runs.ids.push_back(run.id);
  }
  std::erase_if(all, [](const Claimed& one) { return one.claims.empty(); });
  if (all.empty())
    throw UsageError(
        "the recipes of these runs have no [[claims]]: docs/CLAIMS.md says how to write them");
  return all;
}

Exit claim(const Session& session, const ClaimOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  const std::vector<Claimed> all = claimed_by(store, options.names);
  nlohmann::json list = nlohmann::json::array();
  std::string text;
  bool all_hold = true;
  for (const Claimed& one : all) {
    const std::vector<JudgedClaim> judged = one.judge(store);
    all_hold &= all_of_them_hold(judged);
    for (nlohmann::json& row : one.to_json(judged)) list.push_back(std::move(row));
    if (all.size() > 1) text += one.name + "\n";
    text += to_text(judged, lines_of_standard_output().prose());
  }
  if (options.format.json)
    print_json({{"schema_version", kJsonSchemaVersion}, {"claims", list}});
  else
    print_data(text);
  return all_hold ? Exit::ok : Exit::claim_fails;
}

}  // namespace

std::vector<JudgedClaim> Claimed::judge(const Store& store) const {
  return judge_claims(store, compare(store, runs), runs, claims);
}

nlohmann::json Claimed::to_json(const std::vector<JudgedClaim>& judged) const {
  nlohmann::json list = acid::to_json(judged);
  for (nlohmann::json& row : list) row["experiment"] = name;
  return list;
}

std::vector<Claimed> claimed_by(const Store& store, const std::vector<std::string>& names) {
  if (names.size() == 1 && is_recipe(names.front())) return {of_recipe(store, names.front())};
  return of_names(store, names);
}

bool all_of_them_hold(const std::vector<JudgedClaim>& claims) {
  return std::ranges::all_of(
      claims, [](const JudgedClaim& claim) { return claim.verdict == ClaimVerdict::holds; });
}

void add_claim_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<ClaimOptions>();
  CLI::App* command =
      app.add_subcommand("claim", "Judge the claims that a recipe makes of its runs");
  command
      ->add_option(
          "NAMES", options->names,
          "A recipe, or runs and experiments: ids, prefixes, an experiment's name, @latest "
          "(default)")
      ->type_name(" ");
  add_json_option(*command, options->format);
  add_store_option(*command, session);
  add_claim_check(*command, session);
  command->require_subcommand(0, 1);
  command->callback([command, &session, options] {
    if (command->get_subcommands().empty())
      session.action = [&session, options] { return claim(session, *options); };
  });
}

}  // namespace acid
