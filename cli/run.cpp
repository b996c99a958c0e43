#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/execution_options.hpp"
#include "cli/plan_records.hpp"
#include "cli/predict/before.hpp"
#include "cli/processes/launcher.hpp"
#include "cli/recipe_options.hpp"
#include "cli/requirements.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/numbers.hpp"
#include "reports/pivot.hpp"
#include "store/at_work.hpp"
#include "store/hosts.hpp"

namespace acid {
namespace {

struct RunOptions {
  RecipeOptions recipe;
  ExecutionOptions execution;
  ShareOptions share;
  bool force = false;
  bool predict = false;
};

struct Work {
  std::vector<RunSummary> to_do;
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

void say_what_is_done(const Work& work, std::size_t runs) {
  std::string done;
  if (work.finished > 0) done = fmt::format("{} of {} runs already finished", work.finished, runs);
  if (work.diverged > 0)
    done += work.finished > 0 ? fmt::format(" and {} diverged", work.diverged)
                              : fmt::format("{} of {} runs already diverged", work.diverged, runs);
  if (!done.empty()) say(done + " (--force runs them again)");
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
  const std::vector<RunSummary> runs = executor.share.ordered(run_summaries(store, ids));
  const Work work = work_of(runs, executor.fresh, awaited);
  say_what_is_done(work, runs.size());
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
  std::vector<RunRecord> tried;  // in all rungs
};

// Until all runs are over the experiment has these alone; later an earlier selection stays in
// place.
void store_unless_over(const ExperimentRecord& experiment, const std::vector<RunRecord>& tried,
                       const ExecutorOptions& executor) {
  Store store(executor.store_folder, Store::Access::write);
  RunFilter of_search;
  of_search.ids = ids_of(tried);
  const auto known = list_runs(store, of_search);
  if (executor.fresh || known.size() < of_search.ids.size() || !std::ranges::all_of(known, is_over))
    store.add_experiment(experiment, tried);
}

std::string rung_words(const PlannedSearch& asked, std::size_t rung, std::size_t runs) {
  const std::string of_rungs =
      asked.halves() ? fmt::format(", rung {} of {}", rung + 1, asked.rungs.size()) : "";
  const std::string budget =
      asked.halves() ? " with " + share_of_budget(asked.rungs[rung].share) : "";
  return fmt::format(
      "search{}: {} for each algorithm and setting{}, {}; then {} of the values chosen", of_rungs,
      counted(asked.rungs[rung].values, "value"), budget, counted(runs, "run"),
      counted(asked.final_count(), "run"));
}

// Executes the runs of a rung. Nothing, with the reason in `exit`, if one has no outcome: a value
// that diverged has lost; a value whose run failed may be the best.
std::optional<std::vector<ComparedRun>> outcomes_of(const ExecutorOptions& executor,
                                                    const std::vector<std::string>& ids,
                                                    Exit& exit) {
  const Store store(executor.store_folder, Store::Access::read);
  const Ended ended = execute_runs(executor, store, ids, false);
  exit = ended.executed.exit;
  if (ended.executed.interrupted) return std::nullopt;
  const std::vector<RunSummary> summaries = run_summaries(store, ids);
  const std::vector<nlohmann::json> settings = run_settings(store, ids);
  if (const auto open =
          std::ranges::count_if(summaries, [](const RunSummary& run) { return !is_over(run); });
      open > 0) {
    say(
        fmt::format("{} of {} runs of the search have no outcome, so nothing is chosen yet: the "
                    "same command goes on with them",
                    open, ids.size()));
    exit = worse(exit, Exit::run_failed);
    return std::nullopt;
  }
  std::vector<ComparedRun> runs(ids.size());
  for (std::size_t k = 0; k < ids.size(); ++k) {
    runs[k].summary = summaries[k];
    runs[k].settings = settings[k];
  }
  exit = Exit::ok;
  return runs;
}

// A grid is one rung. What the best of a rung are follows from its runs, so the same command makes
// the same choices again.
Searched search(const Plan& plan, const ExperimentRecord& experiment,
                const ExecutorOptions& executor, AtWork& at_work) {
  const PlannedSearch& asked = *plan.search;
  Searched searched;
  Selection selection;
  for (std::size_t k = 0; k < asked.rungs.size(); ++k) {
    const PlannedSearch::Rung& rung = asked.rungs[k];
    const Cells cells = k == 0 ? rung.cells : best_of(selection, rung.values, rung.cells);
    std::set<std::string> left;
    for (const auto& groups : cells) left.insert(groups.begin(), groups.end());
    std::vector<PlannedRun> runs = plan.tried(k);
    std::erase_if(runs, [&](const PlannedRun& run) { return !left.contains(run.group); });
    const std::vector<RunRecord> records = run_records(runs, true);
    const std::vector<std::string> ids = ids_of(records);
    searched.tried.insert(searched.tried.end(), records.begin(), records.end());
    store_unless_over(experiment, searched.tried, executor);
    at_work.on(ids_of(searched.tried));
    say(rung_words(asked, k, ids.size()));
    const auto outcomes = outcomes_of(executor, ids, searched.exit);
    if (!outcomes) return searched;
    if (k == 0)
      selection = select(*outcomes, cells, asked.keys, asked.metric, {});
    else
      judge_again(selection, *outcomes, cells);
    if (asked.halves()) selection.rungs.push_back({rung.share, rung.values});
  }
  // What is chosen runs with the whole budget.
  for (std::size_t c = 0; c < asked.cells.size(); ++c)
    for (std::size_t k = 0; k < asked.cells[c].size(); ++k)
      selection.choices[c].candidates[k].group = asked.cells[c][k];
  searched.selection = std::move(selection);
  return searched;
}

/// Predicts those runs of a plan that want it, have not begun, and have no prediction yet. Returns
/// another exit than ok where nothing may be executed.
class Predicting {
 public:
  Predicting(const Plan& plan, const RecipeOptions& recipe, const ExecutorOptions& executor)
      : plan_(plan), recipe_(recipe), executor_(executor) {}

  Exit before(const std::vector<RunRecord>& runs, const std::string& command_line,
              AtWork& at_work) {
    const std::vector<std::string> groups = wanted(runs);
    if (groups.empty()) return Exit::ok;
    const SimulatedPlan simulated =
        simulated_plan(plan_, groups, [&](const std::vector<std::string>& overrides) {
          return recipe_.compile_with(overrides);
        });
    warn_of_default_machine(simulated.plan.runs);
    const ExperimentRecord experiment = experiment_record(simulated.plan, command_line);
    if (simulated.is_executed)
      if (const Exit exit = simulate(simulated, experiment, at_work); exit != Exit::ok) return exit;
    const Store store(executor_.store_folder, Store::Access::read);
    predictions_ = predictions_of(store, simulated, experiment.id, runs);
    return Exit::ok;
  }

  /// The runs of the plan are in the store, and none has begun since.
  void store() const {
    if (predictions_.empty()) return;
    const std::size_t stored =
        Store(executor_.store_folder, Store::Access::write).add_predictions(predictions_);
    say(fmt::format("predicted: {}; 'acid compare --predicted' scores them{}",
                    counted(stored, "run"),
                    stored == predictions_.size()
                        ? ""
                        : fmt::format(". Another process has predicted or begun {} meanwhile",
                                      counted(predictions_.size() - stored, "run"))));
  }

 private:
  // For runs against the clock, whose machine nothing describes.
  void warn_of_default_machine(const std::vector<PlannedRun>& simulated) const {
    if (simulates(settings_from(plan_.runs.front().settings).execution.entry().name)) return;
    if (std::ranges::any_of(simulated, [](const PlannedRun& run) {
          const VirtualOptions machine = settings_from(run.settings).execution.simulation;
          return machine.network.is_instant() && machine.compute.gradient_seconds == 1;
        }))
      say("acid: warning: the recipe does not describe its machine, so seconds are predicted for a "
          "gradient of 1 s and a network that takes no time; write [execution.virtual], or measure "
          "with 'acid predict RECIPE --calibrate NAME' and write execution.virtual.machine");
  }

  std::vector<std::string> wanted(const std::vector<RunRecord>& runs) const {
    const Store store(executor_.store_folder, Store::Access::write);
    RunFilter known;
    known.ids = ids_of(runs);
    std::set<std::string> begun;
    for (const RunSummary& run : list_runs(store, known))
      if (run.state != RunState::planned) begun.insert(run.id);
    std::vector<std::string> groups;
    std::size_t late = 0;
    for (const RunRecord& run : runs) {
      if (!settings_from(run.settings).execution.predict || prediction_of(store, run.id)) continue;
      if (begun.contains(run.id))
        ++late;
      else if (std::ranges::find(groups, run.group) == groups.end())
        groups.push_back(run.group);
    }
    if (late > 0)
      say(fmt::format("acid: warning: {} cannot be predicted any more, since {} begun before",
                      counted(late, "run"), late == 1 ? "it has" : "they have"));
    return groups;
  }

  Exit simulate(const SimulatedPlan& simulated, const ExperimentRecord& experiment,
                AtWork& at_work) const {
    const std::vector<RunRecord> records = run_records(simulated.plan.runs);
    const std::vector<std::string> ids = ids_of(records);
    Store(executor_.store_folder, Store::Access::write).add_experiment(experiment, records);
    at_work.on(ids);
    say(fmt::format("prediction: {} simulated, experiment {}", counted(ids.size(), "run"),
                    experiment.name));
    ExecutorOptions executor = executor_;
    executor.fresh = false;
    executor.fail_fast = false;  // runs that diverge are draws, too
    const Store store(executor.store_folder, Store::Access::read);
    const Ended ended = execute_runs(executor, store, ids, false);
    if (ended.executed.interrupted) return ended.executed.exit;
    const std::vector<RunSummary> summaries = run_summaries(store, ids);
    const auto diverged = std::ranges::count(summaries, RunState::diverged, &RunSummary::state);
    if (diverged > 0)
      say(fmt::format(
          "acid: warning: {} of {} diverged: of their algorithms neither seconds, bytes "
          "nor the end are predicted",
          diverged, counted(ids.size(), "simulated run")));
    if (std::ranges::all_of(summaries, is_over)) return Exit::ok;
    say("some simulated runs have no outcome, so nothing is predicted, and nothing else is run: "
        "the same command goes on with them, and runs without a prediction when "
        "execution.predict is not set");
    return worse(ended.executed.exit, Exit::run_failed);
  }

  const Plan& plan_;
  const RecipeOptions& recipe_;
  const ExecutorOptions& executor_;
  std::vector<RunPrediction> predictions_;
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
  std::error_code ignored;
  if (!std::filesystem::exists(store_folder + "/store.db", ignored)) return {};
  RunFilter of_plan;
  of_plan.ids = ids;
  std::set<std::string> finished;
  for (const RunSummary& run : list_runs(Store(store_folder, Store::Access::read), of_plan))
    if (is_over(run)) finished.insert(run.id);
  return finished;
}

/// Executes a plan in the executor's store.
Exit execute_plan(const Plan& plan, const Session& session, const RunOptions& options,
                  const ExecutorOptions& executor, bool awaited) {
  ExperimentRecord experiment = experiment_record(plan, session.command_line);
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
  if (std::ranges::any_of(plan.runs, [](const PlannedRun& run) {
        return settings_from(run.settings).execution.predict;
      })) {
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
  const Ended ended = execute_runs(executor, store, ids, awaited);
  if (ended.executed.interrupted) return ended.executed.exit;
  AskedRuns asked(ids);
  asked.experiments.push_back(experiment.id);
  if (executor.share.others)
    print_data(to_screen(compare(store, asked), colour_on_standard_output(),
                         fmt::format("acid compare {} --details", quoted_for_shell(plan.name)), {},
                         lines_of_standard_output()));
  return ended.diverged > 0 ? worse(ended.executed.exit, Exit::run_failed) : ended.executed.exit;
}

/// Executes one part of a plan in a store of its own.
Exit execute_apart(const Plan& plan, const Session& session, const RunOptions& options,
                   ExecutorOptions executor, bool awaited, const std::string& why) {
  say(fmt::format("this part of the runs gets a store of its own, because {}", why));
  if (plan.search) {  // what it chooses depends on all of its runs
    if (executor.share.part > 1) {
      say("a search needs the results of all of its runs in one store, so part 1 runs everything");
      return Exit::ok;
    }
    executor.share = {};
    return execute_plan(plan, session, options, executor, awaited);
  }
  executor.share.others = false;
  executor.share.done = finished_in(executor.store_folder, ids_of(run_records(plan.runs)));
  PartStore part(executor.store_folder, plan.recipe_digest.substr(0, 12), executor.share);
  executor.store_folder = part.folder();
  const Exit exit = execute_plan(plan, session, options, executor, awaited);
  if (exit != Exit::interrupted) part.end();
  return exit;
}

Exit run(const Session& session, RunOptions options) {
  if (options.predict) options.recipe.overrides.push_back("execution.predict=true");
  const Plan plan = options.recipe.compile();
  say_warnings(plan);
  ExecutorOptions executor = options.execution.executor;
  // Checked before anything is written: without these nothing can run.
  executor.worker = worker_program();
  std::vector<RunSettings> runs;
  for (const PlannedRun& planned : plan.runs) runs.push_back(settings_from(planned.settings));
  require_what_runs_need(runs, plan.recipe_path, executor.worker);
  const bool awaited = is_awaited(runs, executor.worker);
  executor.store_folder = session.store_folder;
  executor.fresh = options.force;
  executor.share = options.share.share();
  if (!options.share.asked.empty()) {
    const std::string why = options.share.own_stores ? "--own-stores asks for it"
                                                     : why_locks_fail(executor.store_folder);
    if (!why.empty()) return execute_apart(plan, session, options, executor, awaited, why);
    share_among_hosts(executor.store_folder);
  }
  return execute_plan(plan, session, options, executor, awaited);
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run what a recipe asks for and print the comparison");
  options->recipe.add_to(*command);
  options->execution.add_to(*command);
  options->share.add_to(*command);
  command
      ->add_flag("--force", options->force,
                 "Run everything from its beginning, also what has finished before; earlier "
                 "results give way at once")
      ->excludes("--share");
  command->add_flag("--predict", options->predict,
                    "Store a prediction of each run before it begins, made from simulated runs "
                    "with other seeds; 'acid compare --predicted' scores it. Short for --set "
                    "execution.predict=true");
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return run(session, *options); };
  });
}

}  // namespace acid
