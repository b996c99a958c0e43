#include "cli/planned_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/session.hpp"
#include "engine/base/fields.hpp"
#include "settings/run_settings.hpp"
#include "store/experiment_id.hpp"

namespace acid {
namespace {

struct Work {
  std::vector<RunSummary> to_do;
  std::size_t finished = 0;
  std::size_t diverged = 0;  // and would diverge again
};

Work work_of(const std::vector<RunSummary>& runs, bool all) {
  Work work;
  for (const RunSummary& run : runs)
    if (!all && run.state == RunState::finished)
      ++work.finished;
    else if (!all && run.state == RunState::diverged)
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

}  // namespace

ExperimentRecord experiment_record(const Plan& plan, const std::string& command_line,
                                   const Store* store) {
  nlohmann::json comparison = plan.comparison;
  if (!plan.left_out.empty()) comparison["left_out"] = to_json(plan.left_out);
  ExperimentRecord record{.id = plan.recipe_digest.substr(0, 12),
                          .name = plan.name,
                          .recipe_path = plan.recipe_path,
                          .recipe_text = plan.recipe_text,
                          .recipe_digest = plan.recipe_digest,
                          .overrides = plan.overrides,
                          .command_line = command_line,
                          .search = {},
                          .comparison = comparison};
  if (store == nullptr) return record;
  std::vector<std::string> digests;
  for (const PlannedRun& run : plan.runs) digests.push_back(run.digest);
  record.id = id_in(*store, record, digests, plan.search.has_value());
  return record;
}

std::vector<RunRecord> run_records(const std::vector<PlannedRun>& runs, bool of_search) {
  std::vector<RunRecord> records;
  for (const PlannedRun& run : runs) {
    const RunSettings settings = settings_from(run.settings);
    nlohmann::json rest = to_json(run);
    rest.erase("settings");  // the record has the settings itself
    rest.erase("graphs");    // they belong to this recipe; another recipe may share the run
    records.push_back({.id = run.id,
                       .algorithm = run.algorithm,
                       .label = run.label,
                       .seed = run.seed,
                       .digest = run.digest,
                       .group = run.group,
                       .settings = run.settings,
                       .driver = std::string(settings.execution.entry().name),
                       .topology = run.graph.kind,
                       .workers = run.workers,
                       .budget_gradients = run.budget_gradients,
                       .is_search = of_search,
                       .plan = rest});
  }
  return records;
}

Ended execute_runs(const ExecutorOptions& executor, const Store& store,
                   const std::vector<std::string>& ids, bool awaited) {
  const std::vector<RunSummary> runs = executor.share.ordered(run_summaries(store, ids));
  const Work work = work_of(runs, executor.fresh || awaited);
  say_what_is_done(work, runs.size());
  if (work.to_do.empty()) return {{}, work.diverged};
  return {execute(executor, store, work.to_do), work.diverged};
}

}  // namespace acid
