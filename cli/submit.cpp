#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>

#include "cli/plan_outlook.hpp"
#include "cli/planned_runs.hpp"
#include "cli/processes/child.hpp"
#include "cli/processes/slurm_script.hpp"
#include "cli/processes/supervisor.hpp"
#include "cli/recipe_options.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/module.hpp"
#include "engine/base/names.hpp"
#include "settings/run_settings.hpp"
#include "store/existing_store.hpp"
#include "store/hosts.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

struct SubmitOptions {
  RecipeOptions recipe;
  SlurmJob job;
  std::string prologue;  // file
  int jobs = 1;          // runs at a time in each task
  int cores = 0;         // of a task; 0: as many as its runs use
  bool own_stores = false;
  bool allow_changed = false;
  bool dry_run = false;
};

/// The paths of a job's files, beside each other in the store's folder. Absolute paths.
struct JobFiles {
  std::string store;
  std::string base;  // <store>/submit/<experiment>

  std::string script() const { return base + ".sh"; }
  std::string recipe() const { return base + ".toml"; }
  std::string log(const std::string& job) const { return fmt::format("{}.{}.log", base, job); }
};

// A simulation computes as many gradients at a time as it has cores, up to its workers. More than
// these cores of one node are rarely free, so they have to be asked for.
constexpr int kMostCoresOfSimulation = 16;

// A name without special characters, for files, and for Slurm, which lists jobs by name.
std::string plain(const std::string& name) {
  std::string text;
  for (const char c : name.substr(0, 40)) {
    const bool kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '.' || c == '-' || c == '_';
    text += kept ? c : '-';
  }
  return text;
}

JobFiles files_of(const std::string& store_folder, const std::string& name) {
  const std::string store = fs::absolute(store_folder).lexically_normal().string();
  return {store, store + "/submit/" + name};
}

// Escapes a file name in which sbatch replaces placeholders.
std::string without_placeholders(const std::string& path) {
  std::string text;
  for (const char c : path) text.append(c == '%' ? 2 : 1, c);
  return text;
}

// Slurm chooses the hosts, so a recipe's choice is refused.
void refuse_placement(const MpiSettings& mpi) {
  if (!mpi.hosts.empty() || !mpi.hostfile.empty())
    throw UsageError(
        fmt::format("execution.mpi.{} names hosts, but Slurm chooses those of a job; "
                    "take it out of the recipe, or start it with 'acid run' there",
                    mpi.hosts.empty() ? "hostfile" : "hosts"));
  if (mpi.launcher == "none")
    throw UsageError(
        "execution.mpi.launcher = \"none\": a job starts acid once, which then starts the workers; "
        "use \"mpirun\" or \"srun\"");
}

// Requests what the largest of the runs needs, since they run one after another, or --jobs of them.
void size_job(SlurmJob& job, const SubmitOptions& options, const Plan& plan) {
  for (const PlannedRun& run : plan.runs) {
    const RunSettings settings = settings_from(run.settings);
    const ExecutionSettings& execution = settings.execution;
    int at_once = 1;  // gradients in one task
    if (execution.mpi) {
      refuse_placement(*execution.mpi);
      if (options.jobs > 1)
        throw UsageError(
            "--jobs runs several runs in one task, and driver mpi has a task for each worker of "
            "one; use --array for several at a time");
      job.tasks = std::max(job.tasks, run.workers);
      job.tasks_per_node = execution.mpi->processes_per_host.value_or(job.tasks_per_node);
    } else if (!execution.entry().simulates) {
      at_once = run.workers;
    } else if (!settings.task.model.is_null()) {  // else gradients are too cheap for more cores
      at_once = std::min(run.workers, kMostCoresOfSimulation);
    }
    if (execution.cuda) job.gpus_per_task = std::max(job.gpus_per_task, 1);
    job.cores_per_task =
        std::max(job.cores_per_task, options.jobs * at_once * execution.threads_per_worker);
  }
  if (options.cores > 0) job.cores_per_task = options.cores;
  if (options.job.gpus_per_task > 0) job.gpus_per_task = options.job.gpus_per_task;
}

std::string text_of_file(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  std::ifstream file(path);
  std::string text;
  if (!is_folder) text.assign(std::istreambuf_iterator<char>(file), {});
  if (is_folder || !file.is_open() || file.bad())
    throw UsageError(
        fmt::format("cannot read '{}'; --prologue names a file with lines for bash, "
                    "such as 'module load openmpi'",
                    path));
  return text;
}

// The job's shell would find a mistake only after the job has waited in the queue. A here-document
// without an end is a warning to bash, and would take in the rest of the script.
void refuse_syntax_errors(const std::string& prologue) {
  const std::string bash = "/bin/bash";  // of the script's first line
  if (!fs::exists(bash)) return;
  Command check{bash, "-n", "--", prologue};
  check.environment = {"LC_ALL=C"};  // else bash may warn of the locale
  const Supervisor::Ending ending = Supervisor().run(bash, check, Child::Output::last_words);
  if (ending.status != 0 || !ending.output.empty())
    throw UsageError(
        fmt::format("--prologue {}: bash cannot read it, so the job would fail; "
                    "correct the file:\n{}",
                    prologue, trimmed(ending.output, "\n")));
}

void refuse_time_limit(const SlurmJob& job) {
  if (job.time.empty()) return;
  const std::optional<std::int64_t> seconds = slurm_seconds(job.time);
  if (!seconds)
    throw UsageError(
        fmt::format("--time '{}' is no time limit of Slurm; write 30 (minutes), 30:00 "
                    "(minutes:seconds), 8:00:00 (hours:minutes:seconds), 2-0 (days-hours), 2-0:30 "
                    "(days-hours:minutes) or 2-0:30:00 (days-hours:minutes:seconds)",
                    job.time));
  if (*seconds > 0 && *seconds <= job.save_seconds)
    throw UsageError(
        fmt::format("--time {} is {} s, and the runs are saved {} s before the job's end "
                    "(--save-seconds), so the job would do nothing; give it a longer --time",
                    job.time, *seconds, job.save_seconds));
}

SlurmJob job_of(const SubmitOptions& options, const Plan& plan, const JobFiles& files,
                const std::string& name) {
  SlurmJob job = options.job;
  refuse_time_limit(job);
  job.name = name;
  job.origin = fs::absolute(plan.recipe_path).lexically_normal().string();
  job.recipe = files.recipe();
  job.recipe_text = plan.recipe_text;
  if (!options.prologue.empty()) {
    job.prologue_file = options.prologue;
    job.prologue = text_of_file(options.prologue);
    refuse_syntax_errors(options.prologue);
  }
  size_job(job, options, plan);
  const auto add = [&](std::initializer_list<std::string> words) {
    job.command.insert(job.command.end(), words);
  };
  add({program_folder() + "/acid", "run", files.recipe()});
  add({"--copy-of", job.origin, "--store", files.store});
  for (const std::string& override : options.recipe.overrides) add({"--set", override});
  if (!options.recipe.driver.empty()) add({"--driver", options.recipe.driver});
  if (options.jobs > 1) add({"--jobs", std::to_string(options.jobs)});
  if (options.own_stores) add({"--own-stores"});
  if (options.allow_changed) add({"--allow-changed"});
  return job;
}

// Submits the script and returns the number of the job. The log is named here, so that the script
// can be submitted by hand where its folder does not exist yet.
std::string sbatch(const JobFiles& files, bool array) {
  const std::string script = files.script();
  const std::string log = without_placeholders(files.base) + (array ? ".%A_%a.log" : ".%j.log");
  Supervisor::Ending ending;
  try {
    ending = Supervisor().run("sbatch", {"sbatch", "--parsable", "--output=" + log, script},
                              Child::Output::data);
  } catch (const Error& error) {
    throw Error(
        fmt::format("{}. 'acid submit' needs Slurm's programs (Debian: slurm-client) and a "
                    "machine that may submit jobs; without Slurm, 'acid run --driver mpi' starts "
                    "the processes itself. The script is {}",
                    error.what(), script));
  }
  if (ending.exit() != Exit::ok)
    throw Error(
        fmt::format("sbatch did not take the job ({}; its own words are above); correct "
                    "the options, or {} and then 'sbatch' it",
                    status_text(ending.status), script));
  return ending.output.substr(0, ending.output.find_first_of(";\n"));  // "job;cluster"
}

void say_what_is_next(const SlurmJob& job, const JobFiles& files, const std::string& number,
                      const Plan& plan) {
  const std::string store = quoted_for_shell(files.store);
  const std::size_t runs =
      plan.search ? plan.search_count() + plan.search->final_count() : plan.runs.size();
  say(job.array > 0 ? fmt::format("job {} was submitted: {}, shared by {}", number,
                                  counted(runs, "run"), counted(job.array, "task"))
                    : fmt::format("job {} was submitted: {}, {}", number, counted(runs, "run"),
                                  counted(job.tasks, "task")));
  say(fmt::format("  watch it   acid watch --wait --store {}", store));
  say(fmt::format("  its words  {}", files.log(job.array > 0 ? number + "_*" : number)));
  say(fmt::format("  stop it    scancel --batch --signal=TERM {}   (saves what runs)", number));
  say("  go on      the same 'acid submit' again, or 'acid resume' inside an allocation");
}

// Whether the store has the outcome of every run, so that a job would have nothing to do. Says so.
bool is_finished(const Plan& plan, const RecipeOptions& recipe, const Session& session) {
  if (!store_exists(session.store_folder)) return false;
  Store store(session.store_folder, Store::Access::write);
  const Outlook outlook(plan, recipe, &store);
  if (!std::ranges::all_of(outlook.runs(), &ExpectedRun::is_over)) return false;
  const ExperimentRecord experiment = experiment_record(plan, session.command_line, &store);
  const ExperimentRecord stored = experiment_of(store, experiment.id);
  // A search has not ended before it has chosen.
  if (plan.search && stored.search.is_null()) return false;
  if (stored.id.empty()) store.add_experiment(experiment, run_records(plan.runs, false));
  say(fmt::format("{}: nothing was submitted; 'acid compare {}' compares them", outlook.words(),
                  experiment.id));
  return true;
}

Exit submit(const Session& session, SubmitOptions& options) {
  const Plan plan = options.recipe.compile();
  say_warnings(plan);
  const std::string name = plain(plan.name) + "-" + plan.recipe_digest.substr(0, 12);
  const JobFiles files = files_of(session.store_folder, name);
  const SlurmJob job = job_of(options, plan, files, name);
  const std::string script = slurm_script(job);
  if (options.dry_run) {
    print_data(script);
    return Exit::ok;
  }
  if (is_finished(plan, options.recipe, session)) return Exit::ok;
  worker_program();  // without it the job would fail, but much later
  if (job.array > 0) share_among_hosts(files.store);
  // From now on the runs can be listed and watched.
  {
    Store store(files.store, Store::Access::write);
    store.add_experiment(experiment_record(plan, session.command_line, &store),
                         run_records(plan.runs, plan.search.has_value()));
  }
  std::error_code failed;
  fs::create_directories(fs::path(files.base).parent_path(), failed);
  write_file(files.script(), script);
  const std::string number = sbatch(files, job.array > 0);
  print_data(number + "\n");
  say_what_is_next(job, files, number, plan);
  return Exit::ok;
}

void add_job_options(CLI::App& command, SubmitOptions& options) {
  SlurmJob& job = options.job;
  add_value(command, "--partition", job.partition, "NAME", "Partition of the cluster");
  add_value(command, "--account", job.account, "NAME", "Account to charge");
  add_value(command, "--time", job.time, "T",
            "Time limit, such as 30 (minutes), 8:00:00 or 2-0 (days)");
  add_value(command, "--nodes", job.nodes, "N",
            "Number of nodes (default: as few as hold the workers)")
      ->check(CLI::Range(1, 100'000).description(""));
  auto* array =
      add_value(command, "--array", job.array, "N",
                "Submit an array of N tasks that share the runs: each takes what no other has")
          ->check(CLI::Range(1, 100'000).description(""));
  command
      .add_flag(
          "--own-stores", options.own_stores,
          "Let each task of the array write a store of its own; the one that ends last merges "
          "them. Chosen by itself where file locks stay within one host")
      ->needs(array);
  add_value(command, "--jobs", options.jobs, "N",
            "Runs at a time in each task, each with cores of its own; not for driver mpi")
      ->check(CLI::Range(1, 1024).description(""));
  add_value(command, "--cores", options.cores, "N",
            "Cores of a task (default: as many as its runs use, up to 16 for a simulation)")
      ->check(CLI::Range(1, 100'000).description(""));
  add_value(command, "--gpus", job.gpus_per_task, "N",
            "GPUs of a task (default: one where the recipe's device is cuda)")
      ->check(CLI::Range(1, 1024).description(""));
  add_value(command, "--prologue", options.prologue, "FILE",
            "Lines for bash that the job executes first, such as 'module load openmpi'");
  add_value(command, "--scratch", job.scratch, "DIR",
            "Let each node copy the data files into this folder of its own and read them "
            "there; variables such as $TMPDIR are replaced in the job");
  add_repeated(command, "--sbatch", job.extra, "TEXT",
               "Further options of sbatch, such as \"--qos=high --mem-per-cpu=4G\"; may be "
               "given several times");
  add_value(command, "--save-seconds", job.save_seconds, "S",
            "How long before the time limit runs are saved (default: 120)")
      ->check(CLI::Range(1, 65'535).description(""));
  command.add_flag("--until-finished", job.until_finished,
                   "When the time limit comes first, put the job back into the queue");
  command.add_flag("--allow-changed", options.allow_changed,
                   "Continue runs although acid or their data files have changed since");
  command.add_flag("--dry-run", options.dry_run, "Print the batch script and do nothing");
}

}  // namespace

void add_submit_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<SubmitOptions>(
      app, session, "submit",
      "Run what a recipe asks for as a batch job of Slurm, or as an array of jobs", submit);
  options.recipe.add_to(command);
  add_job_options(command, options);
  add_store_option(command, session);
}

}  // namespace acid
