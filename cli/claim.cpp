#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
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
  std::vector<std::string> names, overrides;
  Format format;
};

bool is_recipe(const std::string& name) {
  return name.ends_with(".toml") || std::filesystem::is_regular_file(name);
}

/// The runs that a search chose which tried the same runs, of a recipe with another text; none
/// where the store has no such search.
std::vector<std::string> chosen_earlier(const Store& store,
                                        const std::vector<ExperimentSummary>& stored,
                                        const Plan& plan) {
  const auto sorted = [](std::vector<std::string> ids) {
    std::ranges::sort(ids);
    return ids;
  };
  const auto tried = sorted(ids_of(plan.runs)), finals = sorted(ids_of(plan.search->finals));
  for (const ExperimentSummary& experiment : stored) {
    const auto all = sorted(resolve_runs(store, {experiment.id}).ids);
    auto chosen = resolve_runs(store, {experiment.id}, OfSearches::without).ids;
    if (!chosen.empty() && std::ranges::includes(all, tried) &&
        std::ranges::includes(finals, sorted(chosen)))
      return chosen;
  }
  return {};
}

Claimed of_recipe(const Store& store, const std::string& path,
                  const std::vector<std::string>& overrides) {
  RecipeOptions recipe;
  recipe.path = path;
  recipe.overrides = overrides;
  const Plan plan = recipe.compile();
  Claimed claimed{plan.name, claims_from(plan.comparison), {}};
  if (claimed.claims.empty())
    throw UsageError(
        fmt::format("{} has no [[claims]]: docs/CLAIMS.md says how to write them", path));
  const std::string experiment = experiment_record(plan, "", &store).id;
  const auto stored = list_experiments(store);
  const bool is_stored =
      std::ranges::find(stored, experiment, &ExperimentSummary::id) != stored.end();
  const std::string word = quoted_for_shell(path) + set_options(overrides);
  if (plan.search && is_stored) {
    claimed.runs = resolve_runs(store, {experiment}, OfSearches::without);
    return claimed;
  }
  if (plan.search) {
    claimed.runs.ids = chosen_earlier(store, stored, plan);
  } else {
    for (const RunSummary& run : list_runs(store, {.ids = ids_of(plan.runs)}))
      claimed.runs.ids.push_back(run.id);
  }
  if (claimed.runs.ids.empty())
    throw UsageError(fmt::format(
        "the store has no run of {} with these settings: 'acid run {}' executes its runs", path,
        word));
  if (is_stored) claimed.runs.experiments.push_back(experiment);
  std::map<std::string, std::set<std::string>> labels;  // of each run in the recipe
  for (const PlannedRun& run : plan.search ? plan.search->finals : plan.runs)
    labels[run.id].insert(run.label);
  for (const RunSummary& run : runs_as_asked(store, claimed.runs))
    if (!labels[run.id].contains(run.label))
      throw UsageError(fmt::format(
          "run {} is '{}' in {} and '{}' in the store: 'acid run {}' asks for it by the name here",
          run.id, *labels[run.id].begin(), path, run.label, word));
  return claimed;
}

Exit claim(const Session& session, const ClaimOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  const Verdicts verdicts = verdicts_on(store, claimed_by(store, options.names, options.overrides),
                                        lines_of_standard_output().prose());
  if (options.format.json)
    print_json({{"claims", verdicts.rows}});
  else
    print_data(verdicts.text);
  return verdicts.all_hold ? Exit::ok : Exit::claim_fails;
}

}  // namespace

std::vector<Claimed> claimed_by(const Store& store, const std::vector<std::string>& names,
                                const std::vector<std::string>& overrides) {
  if (names.size() == 1 && is_recipe(names.front()))
    return {of_recipe(store, names.front(), overrides)};
  if (!overrides.empty()) throw UsageError("--set belongs to a recipe: name one, and nothing else");
  std::vector<Claimed> all = claimed_by(store, resolve_runs(store, names, OfSearches::without));
  if (all.empty())
    throw UsageError(
        "the recipes of these runs have no [[claims]]: docs/CLAIMS.md says how to write them");
  return all;
}

void add_claim_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<ClaimOptions>(
      app, session, "claim", "Judge the claims that a recipe makes of its runs", claim);
  add_argument(command, "NAMES", options.names,
               "A recipe, or runs and experiments: ids, prefixes, an experiment's name, @latest "
               "(default)");
  add_overrides_option(command, options.overrides);
  add_json_option(command, options.format);
  add_store_option(command, session);
  add_claim_check(command, session);
  command.require_subcommand(0, 1);
  command.parse_complete_callback([&command = command, &options = options] {
    if (command.get_subcommands().empty()) return;
    if (!options.names.empty() || !options.overrides.empty())
      throw UsageError("names and --set come after 'check': acid claim check NAMES");
  });
}

}  // namespace acid
