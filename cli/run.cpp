#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>

#include "cli/planned_runs.hpp"
#include "cli/predicting.hpp"
#include "cli/processes/launcher.hpp"
#include "cli/processes/machine.hpp"
#include "cli/recipe_options.hpp"
#include "cli/searching.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/module.hpp"
#include "engine/base/names.hpp"
#include "engine/models/model.hpp"
#include "engine/python/model_templates.hpp"
#include "reports/claims.hpp"
#include "reports/compare.hpp"
#include "reports/numbers.hpp"
#include "reports/pivot.hpp"
#include "store/at_work.hpp"
#include "store/existing_store.hpp"
#include "store/hosts.hpp"

namespace acid {
namespace {

struct RunOptions {
  RecipeOptions recipe;
  ExecutorOptions executor;
  ShareOptions share;
  bool force = false;
  bool predict = false;
};

// Several processes that execute the same runs share them, which surprises who did not mean it.
void say_who_shares(const std::string& store_folder, const std::vector<std::string>& ids) {
  const auto others = runs_at_work(store_folder);
  const auto shared =
      std::ranges::count_if(ids, [&](const std::string& id) { return others.contains(id); });
  if (shared > 0)
    say(
        fmt::format("another acid works on {} of the {} already: both share the runs, and each is "
                    "executed once",
                    shared, counted(ids.size(), "run")));
}

std::vector<PlannedRun> chosen_runs(const PlannedSearch& search, const Selection& selection) {
  std::vector<PlannedRun> chosen;
  for (const PlannedRun& run : search.finals)
    if (selection.choice_of(run.group) != nullptr) chosen.push_back(run);
  return chosen;
}

// The runs of a plan that a store has finished, where there is a store.
std::set<std::string> finished_in(const std::string& store_folder,
                                  const std::vector<std::string>& ids) {
  if (!store_exists(store_folder)) return {};
  std::set<std::string> finished;
  for (const RunSummary& run : list_runs(Store(store_folder, Store::Access::read), {.ids = ids}))
    if (is_over(run.state)) finished.insert(run.id);
  return finished;
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

/// Checked before anything is written. Throws UsageError where this host lacks what runs of a
/// recipe need: LibTorch, a launcher, room for the processes of a run, a GPU. May start `worker`,
/// the path of acid-worker, for some seconds, to look for one.
void require_what_runs_need(const std::vector<RunSettings>& runs, const std::string& recipe,
                            const std::string& worker) {
  require_model_runtime(runs, recipe);
  require_launcher(runs, worker);
  require_device(runs, worker);
}

/// Whether the user has started acid once for each worker (execution.mpi.launcher = "none") and
/// this is rank 0, for whose worker the other ranks wait, even if it has nothing to do: they become
/// workers here, and do not return. Throws UsageError if there are several runs.
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

/// The experiment under its id in the command's store. A part of the runs, which has a store of its
/// own because locks fail there, only reads that one: an empty one, or an earlier acid's, gives
/// none.
ExperimentRecord asked_experiment(const Plan& plan, const Session& session,
                                  const ExecutorOptions& executor) {
  const std::string& folder = session.store_folder;
  const bool is_part = executor.store_folder != folder;
  try {
    if (store_exists(folder)) {
      const Store store(folder, is_part ? Store::Access::read : Store::Access::write);
      return experiment_record(plan, session.command_line, &store);
    }
  } catch (const StoreError&) {
    if (!is_part) throw;
  }
  return experiment_record(plan, session.command_line, nullptr);
}

/// Says so where the store has the recipe with other runs.
void say_if_apart(const Plan& plan, const ExperimentRecord& experiment) {
  const std::string usual = plan.recipe_digest.substr(0, 12);
  if (experiment.id != usual)
    say(
        fmt::format("acid: warning: experiment {} has other runs of this recipe: a file that it "
                    "reads has changed, or acid has. Both are kept; these runs are experiment {}",
                    usual, experiment.id));
}

/// What is known of a plan's runs before any of them begins.
struct Needs {
  bool awaited = false;   // other processes of this command wait for every run
  bool predicts = false;  // some say execution.predict
};

/// Executes a plan in the executor's store.
Exit execute_plan(const Plan& plan, const Session& session, const RunOptions& options,
                  const ExecutorOptions& executor, Needs needs) {
  ExperimentRecord experiment = asked_experiment(plan, session, executor);
  say_if_apart(plan, experiment);
  std::vector<RunRecord> records = run_records(plan.runs, plan.search.has_value());
  std::vector<std::string> ids = ids_of(records);
  say_who_shares(executor.store_folder, ids);
  AtWork at_work(executor.store_folder);
  if (plan.search) {
    Searched searched = search(plan, experiment, executor, at_work);
    if (!searched.selection) return searched.exit;
    records = std::move(searched.tried);
    experiment.search = to_json(*searched.selection);
    const auto finals = run_records(chosen_runs(*plan.search, *searched.selection));
    ids = ids_of(finals);
    records.insert(records.end(), finals.begin(), finals.end());
  }
  Predicting predicting(plan, options.recipe, executor);
  if (needs.predicts) {
    std::vector<RunRecord> compared = records;
    std::erase_if(compared, [](const RunRecord& run) { return run.is_search; });
    if (const Exit exit = predicting.before(compared, session.command_line, at_work);
        exit != Exit::ok)
      return exit;
  }
  Store(executor.store_folder, Store::Access::write).add_experiment(experiment, records);
  at_work.on(ids_of(records));
  predicting.store();

  const Store store(executor.store_folder, Store::Access::read);
  const Ended ended = execute_runs(executor, store, ids, needs.awaited);
  if (ended.executed.interrupted) return ended.executed.exit;
  AskedRuns asked(ids);
  asked.experiments.push_back(experiment.id);
  if (executor.share.others) {
    const Comparison comparison = compare(store, asked);
    print_data(to_screen(comparison, colour_on_standard_output(),
                         fmt::format("acid compare {} --details", quoted_for_shell(plan.name)), {},
                         lines_of_standard_output()));
    if (const std::vector<Claim> claims = claims_from(plan.comparison); !claims.empty())
      print_data("\n" + to_text(judge_claims(store, comparison, asked, claims),
                                lines_of_standard_output().prose()));
  }
  return ended.diverged > 0 ? worse(ended.executed.exit, Exit::run_failed) : ended.executed.exit;
}

/// Executes one part of a plan in a store of its own.
Exit execute_apart(const Plan& plan, const Session& session, const RunOptions& options,
                   ExecutorOptions executor, Needs needs, const std::string& why) {
  say(fmt::format("this part of the runs gets a store of its own, because {}", why));
  if (plan.search) {  // what it chooses depends on all of its runs
    if (executor.share.part > 1) {
      say("a search needs the results of all of its runs in one store, so part 1 runs everything");
      return Exit::ok;
    }
    executor.share = {};
    wait_while_parts_merge(session.store_folder);
    return execute_plan(plan, session, options, executor, needs);
  }
  executor.share.others = false;
  const std::vector<std::string> ids = ids_of(plan.runs);
  const auto finished = [&] {
    wait_while_parts_merge(session.store_folder);
    return finished_in(session.store_folder, ids);
  };
  if (finished().size() == ids.size()) {
    say(fmt::format("{} {} ended in {}", counted(ids.size(), "run"),
                    ids.size() == 1 ? "has" : "have", session.store_folder));
    return Exit::ok;
  }
  PartStore part(executor.store_folder, plan.recipe_digest.substr(0, 12), executor.share);
  executor.share.done = finished();
  executor.store_folder = part.folder();
  const Exit exit = execute_plan(plan, session, options, executor, needs);
  if (exit != Exit::interrupted) part.end();
  return exit;
}

Exit run(const Session& session, RunOptions options) {
  if (options.predict) options.recipe.overrides.push_back("execution.predict=true");
  const Plan plan = options.recipe.compile();
  say_warnings(plan);
  ExecutorOptions executor = options.executor;
  // Checked before anything is written: without these nothing can run.
  executor.worker = worker_program();
  std::vector<RunSettings> runs;
  for (const PlannedRun& planned : plan.runs) runs.push_back(settings_from(planned.settings));
  require_what_runs_need(runs, plan.recipe_path, executor.worker);
  const Needs needs{
      is_awaited(runs, executor.worker),
      std::ranges::any_of(runs, [](const RunSettings& run) { return run.execution.predict; })};
  executor.store_folder = session.store_folder;
  executor.fresh = options.force;
  executor.share = options.share.share();
  if (!options.share.asked.empty()) {
    const std::string why = options.share.own_stores ? "--own-stores asks for it"
                                                     : why_locks_fail(executor.store_folder);
    if (!why.empty()) return execute_apart(plan, session, options, executor, needs, why);
    share_among_hosts(executor.store_folder);
  }
  return execute_plan(plan, session, options, executor, needs);
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<RunOptions>(
      app, session, "run", "Run what a recipe asks for and print the comparison", run);
  options.recipe.add_to(command);
  options.executor.add_to(command);
  options.share.add_to(command);
  command
      .add_flag("--force", options.force,
                "Run everything from its beginning, also what has finished before; earlier "
                "results give way at once")
      ->excludes("--share");
  command.add_flag("--predict", options.predict,
                   "Store a prediction of each run before it begins, made from simulated runs "
                   "with other seeds; 'acid compare --predicted' scores it. Short for --set "
                   "execution.predict=true");
  add_store_option(command, session);
}

}  // namespace acid
