#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "cli/execution_options.hpp"
#include "cli/plan_records.hpp"
#include "cli/processes/child.hpp"
#include "cli/processes/launcher.hpp"
#include "cli/processes/machine.hpp"
#include "cli/recipe_options.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/module.hpp"
#include "engine/base/names.hpp"
#include "engine/models/model.hpp"
#include "engine/python/model_templates.hpp"
#include "reports/compare.hpp"
#include "reports/numbers.hpp"
#include "reports/pivot.hpp"
#include "store/at_work.hpp"

namespace acid {
namespace {

struct RunOptions {
  RecipeOptions recipe;
  ExecutionOptions execution;
  bool force = false;
};

struct Work {
  std::vector<RunSummary> to_do;  // in the recipe's order
  std::size_t finished = 0;
  std::size_t diverged = 0;  // and would diverge again
};

Work work_of(const std::vector<RunSummary>& runs, bool force, bool awaited) {
  Work work;
  for (const RunSummary& run : runs)
    if (awaited)
      work.to_do.push_back(run);
    else if (!force && run.state == RunState::finished)
      ++work.finished;
    else if (!force && run.state == RunState::diverged)
      ++work.diverged;
    else
      work.to_do.push_back(run);
  return work;
}

// With execution.mpi.launcher = "none" the user has started acid once per worker. All processes but
// rank 0 become workers here and wait for the worker that rank 0 starts, even if it has nothing to
// do.
bool is_awaited(const std::vector<RunSettings>& runs, const std::string& worker) {
  const auto process = launched_process(Surroundings::of_this_process().environment);
  if (!process || process->size < 2 || runs.empty()) return false;
  const std::optional<MpiSettings>& mpi = runs.front().execution.mpi;
  if (!mpi || mpi->launcher != "none") return false;
  if (runs.size() > 1)
    throw UsageError(
        fmt::format("with execution.mpi.launcher = \"none\" a recipe must ask for one run, since "
                    "MPI starts only once in a process; this one asks for {}: name one algorithm "
                    "and one seed, or use launcher = \"mpirun\"",
                    runs.size()));
  if (process->rank == 0) return true;
  std::vector<std::string> words{worker, "--mpi"};
  const auto more = start_words(*mpi);
  words.insert(words.end(), more.begin(), more.end());
  ModelTemplates::end();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(worker.c_str(), arguments.data());
  throw Error(fmt::format("cannot start {}: {}", worker, std::strerror(errno)));
}

void say_what_is_done(const Work& work, std::size_t runs) {
  std::string done;
  if (work.finished > 0) done = fmt::format("{} of {} runs already finished", work.finished, runs);
  if (work.diverged > 0)
    done += work.finished > 0 ? fmt::format(" and {} diverged", work.diverged)
                              : fmt::format("{} of {} runs already diverged", work.diverged, runs);
  if (!done.empty()) say(done + " (--force runs them again)");
}

// Throws when LibTorch is missing and runs of the plan need it on this host. Under MPI it may be on
// other hosts.
void require_model_runtime(const std::vector<RunSettings>& runs, const std::string& recipe) {
  const std::string path = module_path(model_module());
  const bool wanted = std::ranges::any_of(runs, [](const RunSettings& run) {
    return !run.execution.mpi && !run.task.model.is_null() &&
           find_model(text(run.task.model, "kind"))->build != nullptr;
  });
  if (wanted && access(path.c_str(), F_OK) != 0)
    throw UsageError(fmt::format("{} trains a model, and there is no '{}': {}; {}", recipe, path,
                                 model_module().users, remedy(model_module())));
}

// Throws when this machine has no room for the processes of a run. Otherwise very many would be
// started before the first of them reports it.
void require_room(const std::vector<RunSettings>& runs) {
  constexpr std::int64_t kBytesOfProcess = 30'000'000;  // of MPI and the program, without a model
  std::int64_t most = 0;
  for (const RunSettings& run : runs)
    if (const auto& mpi = run.execution.mpi;
        mpi && mpi->launcher == "mpirun" && mpi->hosts.empty() && mpi->hostfile.empty())
      most = std::max<std::int64_t>(most, run.workers);
  const std::int64_t memory = available_memory_bytes();
  rlimit processes{};
  getrlimit(RLIMIT_NPROC, &processes);
  std::int64_t room = memory > 0 ? memory / kBytesOfProcess : INT64_MAX;
  const bool by_memory =
      processes.rlim_cur == RLIM_INFINITY || room < static_cast<std::int64_t>(processes.rlim_cur);
  if (!by_memory) room = static_cast<std::int64_t>(processes.rlim_cur);
  if (most <= room) return;
  throw UsageError(fmt::format(
      "{} workers under mpi are as many processes on this machine, which has room for about {} "
      "({}); use fewer workers, several machines (execution.mpi.hosts), or the driver virtual",
      most, room,
      by_memory ? fmt::format("{} of memory", format_bytes(static_cast<double>(memory)))
                : "its limit of processes, ulimit -u"));
}

void require_launcher(const std::vector<RunSettings>& runs, const std::string& worker) {
  const auto launched = std::ranges::find_if(runs, [](const RunSettings& run) {
    return run.execution.mpi && run.execution.mpi->launcher != "none";
  });
  if (launched == runs.end()) return;
  launch_command(*launched, {worker}, Surroundings::of_this_process());
  require_room(runs);
}

// Throws when a run of the plan needs a GPU on this host and there is none.
void require_device(const std::vector<RunSettings>& runs, const std::string& worker) {
  const bool wanted = std::ranges::any_of(
      runs, [](const RunSettings& run) { return !run.execution.mpi && run.execution.cuda; });
  if (!wanted) return;
  constexpr double kPatienceSeconds = 60;
  const Captured answer = capture({worker, "--environment"}, kPatienceSeconds);
  const auto surroundings = nlohmann::json::parse(answer.output, nullptr, false);
  if (!surroundings.is_object()) return;  // the run itself will report the failure
  const auto cuda = surroundings.find("cuda");
  if (cuda != surroundings.end() && cuda->contains("error"))
    throw UsageError(cuda->at("error").get<std::string>());
}

std::vector<std::string> ids_of(const std::vector<RunRecord>& runs) {
  std::vector<std::string> ids;
  for (const RunRecord& run : runs)  // a recipe may ask for the same run twice
    if (std::find(ids.begin(), ids.end(), run.id) == ids.end()) ids.push_back(run.id);
  return ids;
}

struct Ended {
  Executed executed;
  std::size_t diverged = 0;  // before this command
};

Ended execute_runs(const ExecutorOptions& executor, const Store& store,
                   const std::vector<std::string>& ids, bool awaited) {
  const Work work = work_of(run_summaries(store, ids), executor.fresh, awaited);
  say_what_is_done(work, ids.size());
  if (work.to_do.empty()) return {{}, work.diverged};
  return {execute(executor, store, work.to_do), work.diverged};
}

bool is_over(const RunSummary& run) {
  return run.state == RunState::finished || run.state == RunState::diverged;
}

// The selection of a plan's search, once all of its runs have ended; absent until then.
struct Searched {
  Exit exit = Exit::ok;
  std::optional<Selection> selection;
};

Searched search(const Plan& plan, const ExperimentRecord& experiment,
                const ExecutorOptions& executor, AtWork& at_work) {
  const PlannedSearch& asked = *plan.search;
  const std::vector<RunRecord> tried = run_records(plan.runs, true);
  const std::vector<std::string> ids = ids_of(tried);
  {
    Store store(executor.store_folder, Store::Access::write);
    RunFilter of_search;
    of_search.ids = ids;
    const auto known = list_runs(store, of_search);
    // When all of them are over, an earlier selection stays in place.
    if (executor.fresh || known.size() < ids.size() || !std::ranges::all_of(known, is_over))
      store.add_experiment(experiment, tried);
  }
  at_work.on(ids);
  const Store store(executor.store_folder, Store::Access::read);
  say(fmt::format("search: {} for each algorithm and setting, {}; then {} of the values chosen",
                  counted(asked.values, "value"), counted(ids.size(), "run"),
                  counted(asked.final_count(), "run")));
  const Ended ended = execute_runs(executor, store, ids, false);
  if (ended.executed.interrupted) return {ended.executed.exit, {}};
  std::vector<ComparedRun> runs;
  const std::vector<RunSummary> summaries = run_summaries(store, ids);
  const std::vector<nlohmann::json> settings = run_settings(store, ids);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    runs.emplace_back();
    runs.back().summary = summaries[k];
    runs.back().settings = settings[k];
  }
  // A value that diverged has lost; a value whose run failed may be the best, so nothing is chosen.
  if (const auto open =
          std::ranges::count_if(summaries, [](const RunSummary& run) { return !is_over(run); });
      open > 0) {
    say(
        fmt::format("{} of {} runs of the search have no outcome, so nothing is chosen yet: the "
                    "same command goes on with them",
                    open, ids.size()));
    return {worse(ended.executed.exit, Exit::run_failed), {}};
  }
  return {Exit::ok, select(runs, asked.cells, asked.keys, asked.metric, {})};
}

std::vector<PlannedRun> chosen_runs(const PlannedSearch& search, const Selection& selection) {
  std::vector<PlannedRun> chosen;
  for (const PlannedRun& run : search.finals)
    if (selection.choice_of(run.group) != nullptr) chosen.push_back(run);
  return chosen;
}

Exit run(const Session& session, const RunOptions& options) {
  const Plan plan = options.recipe.compile();
  say_warnings(plan);
  ExecutorOptions executor = options.execution.executor;
  // Checked before anything is written: without these nothing can run.
  executor.worker = worker_program();
  std::vector<RunSettings> runs;
  for (const PlannedRun& planned : plan.runs) runs.push_back(settings_from(planned.settings));
  require_model_runtime(runs, plan.recipe_path);
  require_launcher(runs, executor.worker);
  require_device(runs, executor.worker);
  const bool awaited = is_awaited(runs, executor.worker);
  executor.store_folder = session.store_folder;
  executor.fresh = options.force;

  ExperimentRecord experiment = experiment_record(plan, session.command_line);
  std::vector<RunRecord> records = run_records(plan.runs, plan.search.has_value());
  std::vector<std::string> ids = ids_of(records);
  AtWork at_work(session.store_folder);
  if (plan.search) {
    const Searched searched = search(plan, experiment, executor, at_work);
    if (!searched.selection) return searched.exit;
    experiment.search = to_json(*searched.selection);
    const auto finals = run_records(chosen_runs(*plan.search, *searched.selection));
    ids = ids_of(finals);
    records.insert(records.end(), finals.begin(), finals.end());
  }
  Store(session.store_folder, Store::Access::write).add_experiment(experiment, records);
  at_work.on(ids_of(records));

  const Store store(session.store_folder, Store::Access::read);
  const Ended ended = execute_runs(executor, store, ids, awaited);
  if (ended.executed.interrupted) return ended.executed.exit;
  AskedRuns asked(ids);
  asked.experiments.push_back(experiment.id);
  print_data(to_screen(compare(store, asked), colour_on_standard_output(),
                       fmt::format("acid compare {} --details", quoted_for_shell(plan.name)), {},
                       lines_of_standard_output()));
  return ended.diverged > 0 ? worse(ended.executed.exit, Exit::run_failed) : ended.executed.exit;
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
