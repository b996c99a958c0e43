#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/base/names.hpp"
#include "store/filter.hpp"
#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"
#include "store/tags.hpp"

namespace acid {
namespace {

/// Which runs a query is about: those of ?1, a list as JSON, or all. SQLite finds listed ones by
/// their index only where the condition has no other part.
std::string among(bool listed, const char* column) {
  return listed ? fmt::format("{} IN (SELECT value FROM json_each(?1))", column) : "?1 IS NULL";
}

// "Newest first" sorts by when a run last began or, if it never did, when it was asked for.
constexpr const char* kSelectRuns = R"sql(
  SELECT id, experiment, experiment_name, algorithm, label, seed, digest, group_digest, state,
         message, driver, topology, workers, started, finished, heartbeat, budget_gradients,
         gradients, normalised_time, seconds, bytes,
         CASE WHEN budget_gradients = 0 THEN
           (SELECT json_extract(settings, '$.budget.normalised_time')
            FROM runs WHERE runs.id = run_list.id)
         END, role, tags, tagged
  FROM run_list
  WHERE {}
  ORDER BY max(coalesce(started, ''), created) DESC,
           (SELECT number FROM runs WHERE runs.id = run_list.id) DESC)sql";

// The newest attempt has a series row for each metric, also for a value that an earlier attempt had
// last. CROSS JOIN keeps the order of the tables, so that the many series of single workers are not
// looked at.
constexpr const char* kSelectMetrics = R"sql(
  SELECT r.id, s.metric, s.last
  FROM runs r
  CROSS JOIN attempts a
    ON a.run = r.number AND a.number = (SELECT max(number) FROM attempts WHERE run = r.number)
  CROSS JOIN series s ON s.attempt = a.id AND s.worker = -1
  WHERE {})sql";

RunSummary summary_of_row(const Statement& row, const std::unordered_set<std::string>& dead) {
  RunSummary run;
  run.id = stored_run_id(row, 0);
  const std::string whose = "run " + run.id;
  run.experiment = row.text(1);
  run.experiment_name = row.text(2);
  run.algorithm = row.text(3);
  run.label = row.text(4);
  run.seed = static_cast<std::uint64_t>(row.integer(5));
  run.digest = row.text(6);
  run.group = row.text(7);
  run.state = stored_state(row, 8, whose);
  run.message = row.text(9);
  run.driver = row.text(10);
  run.topology = row.text(11);
  run.workers = static_cast<int>(row.integer(12, 1, kMostWorkers, whose));
  run.started = row.text(13);
  run.finished = row.text(14);
  run.budget_gradients = row.integer(16, 0, kMostGradients, whose);
  run.budget_time = row.optional_real(21);
  run.is_search = row.text(22) == "search";
  run.tags = words_of(row.text(23));
  run.tagged = words_of(row.text(24));
  std::ranges::sort(run.tagged);
  run.tagged.erase(std::unique(run.tagged.begin(), run.tagged.end()), run.tagged.end());
  if (run.state != RunState::planned) run.progress = stored_position(row, 17, whose);
  if (run.state == RunState::running && dead.contains(run.id)) {
    run.state = RunState::interrupted;
    run.message = "its process is gone";
    run.finished = row.text(15);
  }
  return run;
}

void keep(const RunFilter& filter, std::vector<RunSummary>& runs) {
  std::erase_if(runs, [&](const RunSummary& run) {
    return (filter.state && run.state != *filter.state) ||
           (!filter.algorithm.empty() && run.algorithm != filter.algorithm);
  });
}

}  // namespace

std::vector<RunSummary> list_runs(const Store& store, const RunFilter& filter) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  const auto dead = dead_runs(connection);
  std::optional<std::string> ids;
  if (!filter.ids.empty()) ids = json_text(filter.ids);

  Statement select(connection, fmt::format(kSelectRuns, among(ids.has_value(), "id")));
  select.bind(ids);
  std::vector<RunSummary> runs;
  while (select.step()) runs.push_back(summary_of_row(select, dead));
  std::unordered_map<std::string, SeenRun> seen;
  if (!filter.experiments.empty()) {
    AskedRuns asked(filter.ids);
    asked.experiments = filter.experiments;
    seen = seen_runs(connection, asked);
  }
  show_in(runs, seen);
  keep(filter, runs);
  if (!filter.where.empty()) {
    const auto wanted = ids_where(connection, filter.where, dead, ids, seen);
    std::erase_if(runs, [&](const RunSummary& run) { return !wanted.contains(run.id); });
  }

  std::unordered_map<std::string, RunSummary*> by_id;
  for (RunSummary& run : runs) by_id[run.id] = &run;
  Statement metrics(connection, fmt::format(kSelectMetrics, among(ids.has_value(), "r.id")));
  metrics.bind(ids);
  while (metrics.step())
    if (const auto run = by_id.find(metrics.text(0)); run != by_id.end())
      run->second->metrics[metrics.text(1)] = metrics.real(2);
  return runs;
}

std::vector<RunSummary> run_summaries(const Store& store, const std::vector<std::string>& run_ids) {
  if (run_ids.empty()) return {};
  RunFilter filter;
  filter.ids = run_ids;
  const std::vector<RunSummary> found = list_runs(store, filter);
  std::unordered_map<std::string_view, const RunSummary*> by_id;
  for (const RunSummary& run : found) by_id[run.id] = &run;
  std::vector<RunSummary> ordered;
  for (const std::string& id : run_ids) {
    const auto run = by_id.find(id);
    if (run == by_id.end()) throw UsageError(no_such_run(store.folder(), id));
    ordered.push_back(*run->second);
  }
  return ordered;
}

void require_finished(const Store& store, const std::vector<std::string>& run_ids,
                      std::string_view make) {
  std::map<RunState, std::size_t> states;
  for (const RunSummary& run : run_summaries(store, run_ids)) ++states[run.state];
  if (states.contains(RunState::finished)) return;
  std::vector<std::string> counts;
  for (const auto& [state, count] : states)
    counts.push_back(fmt::format("{} {}", count, state_name(state)));
  throw UsageError(fmt::format(
      "there is nothing to {}: none of the {} has finished ({}). 'acid watch' shows those that go "
      "on, 'acid resume' continues what was interrupted, 'acid show RUN' says why one failed or "
      "diverged",
      make, counted(run_ids.size(), "run"), fmt::join(counts, ", ")));
}

AskedRuns runs_where(const Store& store, AskedRuns runs,
                     const std::vector<std::string>& conditions) {
  if (conditions.empty()) return runs;
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  const auto wanted = ids_where(connection, conditions, dead_runs(connection), json_text(runs.ids),
                                seen_runs(connection, runs));
  const std::size_t asked = runs.ids.size();
  std::erase_if(runs.ids, [&](const std::string& id) { return !wanted.contains(id); });
  if (runs.ids.empty()) {
    std::vector<std::string> words;
    for (const std::string& condition : conditions) words.push_back(words_of_condition(condition));
    throw UsageError(fmt::format(
        "{} has {}: 'acid list' with the same condition looks at all that the store "
        "has; 'acid compare --only-changed' lists the settings that differ and their values",
        asked == 1 ? "no run" : fmt::format("none of the {} runs", asked),
        fmt::join(words, " and ")));
  }
  return runs;
}

}  // namespace acid
