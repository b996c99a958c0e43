#include "cli/predicting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/planned_runs.hpp"
#include "cli/terminal/session.hpp"
#include "engine/base/names.hpp"
#include "settings/run_settings.hpp"

namespace acid {

Exit Predicting::before(const std::vector<RunRecord>& runs, const std::string& command_line,
                        AtWork& at_work) {
  const Unpredicted asked = wanted(runs);
  if (asked.groups.empty()) return Exit::ok;
  const SimulatedPlan simulated = simulated_plan(
      plan_, asked.groups,
      [&](const std::vector<std::string>& overrides) { return recipe_.compile_with(overrides); });
  warn_of_default_machine(simulated.plan.runs);
  const ExperimentRecord experiment = experiment_record(simulated.plan, command_line, nullptr);
  if (simulated.is_executed)
    if (const Exit exit = simulate(simulated, experiment, at_work); exit != Exit::ok) return exit;
  const Store store(executor_.store_folder, Store::Access::read);
  // Other runs of a group may have begun, or have their prediction.
  std::vector<RunRecord> without = runs;
  std::erase_if(without, [&](const RunRecord& run) { return !asked.ids.contains(run.id); });
  predictions_ = predictions_of(store, simulated, experiment.id, without);
  return Exit::ok;
}

void Predicting::store() const {
  if (predictions_.empty()) return;
  const std::size_t stored =
      Store(executor_.store_folder, Store::Access::write).add_predictions(predictions_);
  say(fmt::format("predicted: {}; 'acid compare --predicted' scores them{}", counted(stored, "run"),
                  stored == predictions_.size()
                      ? ""
                      : fmt::format(". Another process has predicted or begun {} meanwhile",
                                    counted(predictions_.size() - stored, "run"))));
}

// For runs against the clock, whose machine nothing describes.
void Predicting::warn_of_default_machine(const std::vector<PlannedRun>& simulated) const {
  if (simulates(settings_from(plan_.runs.front().settings).execution.entry().name)) return;
  if (std::ranges::any_of(simulated, [](const PlannedRun& run) {
        const VirtualOptions machine = settings_from(run.settings).execution.simulation;
        return machine.network.is_instant() && machine.compute.gradient_seconds == 1;
      }))
    say("acid: warning: the recipe does not describe its machine, so seconds are predicted for a "
        "gradient of 1 s and a network that takes no time; write [execution.virtual], or measure "
        "with 'acid predict RECIPE --calibrate NAME' and write execution.virtual.machine");
}

Unpredicted Predicting::wanted(const std::vector<RunRecord>& runs) const {
  const Store store(executor_.store_folder, Store::Access::write);
  std::set<std::string> asked;
  for (const RunRecord& run : runs) asked.insert(run.id);
  std::vector<const PlannedRun*> planned;
  for (const PlannedRun& run : plan_.compared())
    if (asked.contains(run.id)) planned.push_back(&run);
  Unpredicted found = unpredicted(&store, planned);
  if (found.late > 0)
    say(fmt::format("acid: warning: {} cannot be predicted any more, since {} begun before",
                    counted(found.late, "run"), found.late == 1 ? "it has" : "they have"));
  return found;
}

Exit Predicting::simulate(const SimulatedPlan& simulated, const ExperimentRecord& experiment,
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
    say(
        fmt::format("acid: warning: {} of {} diverged: of their algorithms neither seconds, bytes "
                    "nor the end are predicted",
                    diverged, counted(ids.size(), "simulated run")));
  if (std::ranges::all_of(summaries, is_over, &RunSummary::state)) return Exit::ok;
  say("some simulated runs have no outcome, so nothing is predicted, and nothing else is run: "
      "the same command goes on with them, and runs without a prediction when "
      "execution.predict is not set");
  return worse(ended.executed.exit, Exit::run_failed);
}

}  // namespace acid
