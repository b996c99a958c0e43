#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/executor.hpp"
#include "cli/recipe_options.hpp"
#include "reports/compare.hpp"

namespace acid {
namespace {

struct RunOptions {
  RecipeOptions recipe;
  ExecutorOptions executor;
  bool force = false;
  bool keep_going = false;
};

ExperimentRecord record_of(const Plan& plan, const std::string& command_line) {
  return {.id = plan.recipe_digest.substr(0, 12),
          .name = plan.name,
          .recipe_path = plan.recipe_path,
          .recipe_text = plan.recipe_text,
          .recipe_digest = plan.recipe_digest,
          .overrides = plan.overrides,
          .command_line = command_line};
}

std::vector<RunRecord> records_of(const Plan& plan) {
  const nlohmann::json document = to_json(plan);
  std::vector<RunRecord> records;
  for (std::size_t r = 0; r < plan.runs.size(); ++r) {
    const PlannedRun& run = plan.runs[r];
    nlohmann::json rest = document["runs"][r];
    rest.erase("settings");  // Kept once.
    records.push_back({.id = run.id,
                       .algorithm = run.algorithm,
                       .label = run.label,
                       .seed = run.seed,
                       .digest = run.digest,
                       .group = run.group,
                       .settings = run.settings,
                       .driver = run.settings["execution"]["driver"],
                       .topology = run.settings["topology"]["kind"],
                       .workers = run.workers,
                       .budget_gradients = run.budget_gradients,
                       .plan = rest});
  }
  return records;
}

// What is left to do, in the recipe's order; says how much is not.
std::vector<RunSummary> unfinished(const std::vector<RunSummary>& runs, bool force) {
  std::vector<RunSummary> wanted;
  for (const RunSummary& run : runs)
    if (force || run.state != RunState::finished) wanted.push_back(run);
  if (const std::size_t finished = runs.size() - wanted.size(); finished > 0)
    say(fmt::format("{} of {} runs already finished (--force runs them again)", finished,
                    runs.size()));
  return wanted;
}

Exit run(const Session& session, const RunOptions& options) {
  const Plan plan = options.recipe.compile();
  say_warnings(plan);
  ExecutorOptions executor = options.executor;
  executor.worker = worker_program();  // Before anything is written: without it nothing can run.
  executor.store_folder = session.store_folder;

  std::vector<std::string> ids;
  for (const PlannedRun& planned : plan.runs)  // A recipe may ask for the same run twice.
    if (std::find(ids.begin(), ids.end(), planned.id) == ids.end()) ids.push_back(planned.id);
  Store(session.store_folder, Store::Access::write)
      .add_experiment(record_of(plan, session.command_line), records_of(plan));

  const Store store(session.store_folder, Store::Access::read);
  Exit exit = Exit::ok;
  const auto wanted = unfinished(run_summaries(store, ids), options.force);
  if (!wanted.empty()) exit = execute(executor, store, wanted);
  if (exit == Exit::interrupted) return exit;
  print_data(to_text(compare(store, ids), colour_on_standard_output()));
  return exit;
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run what a recipe asks for and print the comparison");
  options->recipe.add_to(*command);
  command
      ->add_option("--jobs", options->executor.jobs,
                   "Runs at a time. Default 1: the virtual driver uses every core by itself, and "
                   "runs side by side disturb each other's wall clock")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  command->add_flag("--force", options->force,
                    "Also run what has finished before; its earlier results give way at once");
  auto* keep_going = command->add_flag("--keep-going", options->keep_going,
                                       "Go on with the other runs when one fails (default)");
  command->add_flag("--fail-fast", options->executor.fail_fast, "Stop when a run fails")
      ->excludes(keep_going);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return run(session, *options); };
  });
}

}  // namespace acid
