#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/execution_options.hpp"
#include "cli/recipe_options.hpp"
#include "reports/compare.hpp"

namespace acid {
namespace {

struct RunOptions {
  RecipeOptions recipe;
  ExecutionOptions execution;
  bool force = false;
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

struct Work {
  std::vector<RunSummary> to_do;  // in the recipe's order
  std::size_t finished = 0;
  std::size_t diverged = 0;  // and would again
};

Work work_of(const std::vector<RunSummary>& runs, bool force) {
  Work work;
  for (const RunSummary& run : runs)
    if (!force && run.state == RunState::finished)
      ++work.finished;
    else if (!force && run.state == RunState::diverged)
      ++work.diverged;
    else
      work.to_do.push_back(run);
  return work;
}

void say_what_is_done(const Work& work, std::size_t runs) {
  std::string done;
  if (work.finished > 0) done = fmt::format("{} of {} runs already finished", work.finished, runs);
  if (work.diverged > 0)
    done += work.finished > 0 ? fmt::format(" and {} diverged", work.diverged)
                              : fmt::format("{} of {} runs already diverged", work.diverged, runs);
  if (!done.empty()) say(done + " (--force runs them again)");
}

Exit run(const Session& session, const RunOptions& options) {
  const Plan plan = options.recipe.compile();
  say_warnings(plan);
  ExecutorOptions executor = options.execution.executor;
  executor.worker = worker_program();  // Before anything is written: without it nothing can run.
  executor.store_folder = session.store_folder;
  executor.fresh = options.force;

  std::vector<std::string> ids;
  for (const PlannedRun& planned : plan.runs)  // A recipe may ask for the same run twice.
    if (std::find(ids.begin(), ids.end(), planned.id) == ids.end()) ids.push_back(planned.id);
  Store(session.store_folder, Store::Access::write)
      .add_experiment(record_of(plan, session.command_line), records_of(plan));

  const Store store(session.store_folder, Store::Access::read);
  const Work work = work_of(run_summaries(store, ids), options.force);
  say_what_is_done(work, ids.size());
  Executed executed;
  if (!work.to_do.empty()) executed = execute(executor, store, work.to_do);
  if (executed.interrupted) return executed.exit;
  print_data(to_text(compare(store, ids), colour_on_standard_output()));
  return work.diverged > 0 ? worse(executed.exit, Exit::run_failed) : executed.exit;
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run what a recipe asks for and print the comparison");
  options->recipe.add_to(*command);
  options->execution.add_to(*command);
  command->add_flag("--force", options->force,
                    "Run everything from its beginning, also what has finished before; earlier "
                    "results give way at once");
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return run(session, *options); };
  });
}

}  // namespace acid
