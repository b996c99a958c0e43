#include "cli/searching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/planned_runs.hpp"
#include "cli/terminal/session.hpp"
#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/readings.hpp"

namespace acid {
namespace {

// Until all runs are over the experiment has these alone; later an earlier selection stays in
// place.
void store_unless_over(const ExperimentRecord& experiment, const std::vector<RunRecord>& tried,
                       const ExecutorOptions& executor) {
  Store store(executor.store_folder, Store::Access::write);
  const std::vector<std::string> ids = ids_of(tried);
  const auto known = list_runs(store, {.ids = ids});
  if (executor.fresh || known.size() < ids.size() ||
      !std::ranges::all_of(known, is_over, &RunSummary::state))
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
  if (const auto open = std::ranges::count_if(
          summaries, [](const RunSummary& run) { return !is_over(run.state); });
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
    if (summaries[k].state == RunState::finished) read_starts(store, runs[k]);
  }
  exit = Exit::ok;
  return runs;
}

}  // namespace

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

}  // namespace acid
