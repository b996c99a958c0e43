#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/processes/child.hpp"
#include "cli/processes/executor.hpp"
#include "cli/recipe_options.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/run_json.hpp"
#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/pivot.hpp"
#include "store/at_work.hpp"
#include "store/existing_store.hpp"

namespace acid {
namespace {

struct ResumeOptions {
  std::vector<std::string> names;
  ExecutorOptions executor;
};

// The interrupted runs of all experiments, in the order in which they were begun; says which runs
// are left alone.
std::vector<RunSummary> all_interrupted(const Store& store) {
  std::vector<RunSummary> wanted;
  std::size_t failed = 0, planned = 0;
  for (const RunSummary& run : list_runs(store)) {
    if (run.state == RunState::interrupted) wanted.push_back(run);
    if (run.state == RunState::failed) ++failed;
    if (run.state == RunState::planned) ++planned;
  }
  std::reverse(wanted.begin(), wanted.end());
  std::string alone = failed > 0 ? counted(failed, "failed run") : "";
  if (planned > 0) alone += (failed > 0 ? " and " : "") + counted(planned, "planned run");
  if (!alone.empty())
    say(fmt::format("{} left alone: resumed only when named; 'acid run RECIPE' runs all of it",
                    alone));
  return wanted;
}

// Why a run that was named is not resumed.
const char* reason_against(RunState state) {
  switch (state) {
    case RunState::finished:
      return "finished already";
    case RunState::running:
      return "is being executed already";
    case RunState::diverged:
      return "diverged and would again; 'acid run --force' begins anew";
    default:
      return nullptr;
  }
}

std::vector<RunSummary> resumable(const std::vector<RunSummary>& named) {
  std::vector<RunSummary> wanted;
  for (const RunSummary& run : named)
    if (const char* reason = reason_against(run.state))
      say(fmt::format("run {} ({}, seed {}) {}", run.id, shown_name(run.algorithm, run.label),
                      run.seed, reason));
    else
      wanted.push_back(run);
  return wanted;
}

Exit resume(const Session& session, const ResumeOptions& options) {
  ExecutorOptions executor = options.executor;
  executor.worker = worker_program();
  executor.store_folder = session.store_folder;
  open_existing_store(session.store_folder);  // migrates an older store
  const Store store(session.store_folder, Store::Access::read);
  const auto wanted = options.names.empty()
                          ? all_interrupted(store)
                          : resumable(run_summaries(store, resolve_runs(store, options.names).ids));
  if (wanted.empty()) {
    say(fmt::format("nothing to resume in {}", session.store_folder));
    return Exit::ok;
  }
  say(fmt::format("resuming {}",
                  counted(wanted.size(), options.names.empty() ? "interrupted run" : "run")));
  std::vector<std::string> ids;
  for (const RunSummary& run : wanted) ids.push_back(run.id);
  AtWork at_work(session.store_folder);
  at_work.on(ids);
  const Executed executed = execute(executor, store, wanted);
  if (executed.interrupted) return executed.exit;
  print_data(to_screen(compare(store, ids), colour_on_standard_output(),
                       fmt::format("acid compare {} --details", wanted.front().experiment), {},
                       lines_of_standard_output()));
  return executed.exit;
}

}  // namespace

void add_resume_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<ResumeOptions>(
      app, session, "resume", "Continue interrupted runs from their last checkpoint", resume);
  add_runs_argument(
      command, "RUNS", options.names,
      " (default: every interrupted run). Failed and planned runs are resumed when named");
  options.executor.add_to(command);
  add_store_option(command, session);
}

}  // namespace acid
