// Finds which experiments asked for which runs, and through which experiment a shared run is seen.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/rows.hpp"

namespace acid {
namespace {

struct Experiment {
  std::int64_t number = 0;
  std::string id, name;
};

/// Returns the experiments that were named, then the experiments of which all runs are among the
/// ids or were tried by a search: the largest first, then the newest.
std::vector<Experiment> asked_first(const Connection& connection, const AskedRuns& asked) {
  Statement select(connection,
                   "SELECT e.number, e.id, e.name FROM experiments e"
                   " JOIN experiment_runs m ON m.experiment = e.number"
                   " JOIN runs r ON r.number = m.run"
                   " LEFT JOIN json_each(?2) named ON named.value = e.id"
                   " GROUP BY e.number"
                   " HAVING sum(r.id IN (SELECT value FROM json_each(?1))) > 0"
                   " AND (named.key IS NOT NULL OR"
                   "  sum(m.role = '' AND r.id NOT IN (SELECT value FROM json_each(?1))) = 0)"
                   " ORDER BY named.key IS NULL, named.key, count(*) DESC, e.number DESC");
  select.bind(json_text(asked.ids), json_text(asked.experiments));
  std::vector<Experiment> experiments;
  while (select.step()) experiments.push_back({select.integer(0), select.text(1), select.text(2)});
  return experiments;
}

}  // namespace

void show_in(std::vector<RunSummary>& runs, const std::unordered_map<std::string, SeenRun>& seen) {
  for (RunSummary& run : runs) {
    const auto place = seen.find(run.id);
    if (place == seen.end()) continue;
    run.experiment = place->second.experiment;
    run.experiment_name = place->second.name;
    run.label = place->second.label;
    run.is_search = place->second.is_search;
  }
}

std::unordered_map<std::string, SeenRun> seen_runs(const Connection& connection,
                                                   const AskedRuns& asked) {
  std::unordered_set<std::string> left(asked.ids.begin(), asked.ids.end());
  std::unordered_map<std::string, SeenRun> seen;
  Statement members(connection,
                    "SELECT r.id, m.label, m.role FROM experiment_runs m"
                    " JOIN runs r ON r.number = m.run WHERE m.experiment = ?");
  for (const Experiment& experiment : asked_first(connection, asked)) {
    members.bind(experiment.number);
    while (members.step())
      if (const std::string id = stored_run_id(members, 0); left.erase(id) > 0)
        seen[id] = {experiment.id, experiment.name, members.text(1), members.text(2) == "search"};
    members.reset();
  }
  return seen;
}

std::vector<RunSummary> runs_as_asked(const Store& store, const AskedRuns& asked) {
  std::vector<RunSummary> runs = run_summaries(store, asked.ids);
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  show_in(runs, seen_runs(connection, asked));
  return runs;
}

std::vector<ExperimentSummary> list_experiments(const Store& store) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  const auto dead = dead_runs(connection);
  Statement select(connection,
                   "SELECT e.id, e.name, e.created, r.id, r.algorithm, m.label, r.seed,"
                   " r.group_digest, r.driver, r.topology, r.workers,"
                   " CASE WHEN a.id IS NULL THEN 'planned' ELSE coalesce(a.outcome, 'running')"
                   " END, e.overrides, (SELECT group_concat(t.tag, ' ') FROM tags t"
                   "  WHERE t.kind = 'experiment' AND t.id = e.id)"
                   " FROM experiments e JOIN experiment_runs m ON m.experiment = e.number"
                   " JOIN runs r ON r.number = m.run"
                   " LEFT JOIN attempts a ON a.run = r.number"
                   "  AND a.number = (SELECT max(number) FROM attempts WHERE run = r.number)"
                   " ORDER BY e.number DESC, m.position");
  std::vector<ExperimentSummary> experiments;
  while (select.step()) {
    if (experiments.empty() || experiments.back().id != select.text(0))
      experiments.push_back({select.text(0),
                             select.text(1),
                             select.text(2),
                             stored_texts(select, 12, "experiment " + select.text(0)),
                             {},
                             words_of(select.text(13)),
                             notes_of(connection, "experiment", select.text(0))});
    RunSummary run;
    run.id = stored_run_id(select, 3);
    run.experiment = experiments.back().id;
    run.experiment_name = experiments.back().name;
    run.algorithm = select.text(4);
    run.label = select.text(5);
    run.seed = static_cast<std::uint64_t>(select.integer(6));
    run.group = select.text(7);
    run.driver = select.text(8);
    run.topology = select.text(9);
    run.workers = static_cast<int>(select.integer(10, 1, kMostWorkers, "run " + run.id));
    run.state = stored_state(select, 11, "run " + run.id);
    if (run.state == RunState::running && dead.contains(run.id)) run.state = RunState::interrupted;
    experiments.back().runs.push_back(std::move(run));
  }
  return experiments;
}

ExperimentRecord experiment_of(const Store& store, const std::string& id) {
  Statement find(store.impl().connection(),
                 "SELECT id, name, recipe_path, recipe_text, recipe_digest, overrides,"
                 " command_line, search, comparison FROM experiments WHERE id = ?");
  if (!find.bind(id).step()) return {};
  const std::string whose = "experiment " + id;
  const auto object = [&](int column) {
    return find.is_null(column) ? nlohmann::json() : stored_object(find, column, whose);
  };
  return {find.text(0), find.text(1), find.text(2),
          find.text(3), find.text(4), stored_texts(find, 5, whose),
          find.text(6), object(7),    object(8)};
}

std::vector<std::string> runs_of_searches(const Store& store,
                                          const std::vector<std::string>& experiments) {
  return texts(store.impl().connection(),
               "SELECT r.id FROM runs r WHERE EXISTS (SELECT 1 FROM experiment_runs m"
               " JOIN experiments e ON e.number = m.experiment WHERE m.run = r.number"
               " AND m.role = 'search' AND e.id IN (SELECT value FROM json_each(?1)))"
               " ORDER BY r.number",
               json_text(experiments));
}

AskedRuns without_searches(const Store& store, AskedRuns asked) {
  const std::vector<std::string> tried =
      texts(store.impl().connection(),
            "SELECT r.id FROM experiments e JOIN experiment_runs m ON m.experiment = e.number"
            " JOIN runs r ON r.number = m.run WHERE e.id IN (SELECT value FROM json_each(?1))"
            " GROUP BY r.id HAVING min(m.role) = 'search'",
            json_text(asked.experiments));
  const std::unordered_set<std::string> searched(tried.begin(), tried.end());
  std::erase_if(asked.ids, [&](const std::string& id) { return searched.contains(id); });
  return asked;
}

std::vector<nlohmann::json> comparisons_before(const Store& store, const std::string& experiment) {
  Statement select(store.impl().connection(),
                   "SELECT o.comparison FROM experiments e"
                   " JOIN experiment_runs m ON m.experiment = e.number AND m.role = ''"
                   " JOIN attempts a ON a.run = m.run AND a.ended < e.created"
                   " JOIN experiment_runs om ON om.run = m.run AND om.role = ''"
                   " JOIN experiments o ON o.number = om.experiment AND o.number < e.number"
                   " WHERE e.id = ? GROUP BY o.comparison ORDER BY max(o.number) DESC");
  std::vector<nlohmann::json> all;
  for (select.bind(experiment); select.step();)
    all.push_back(select.is_null(0) ? nlohmann::json()
                                    : stored_object(select, 0, "experiment " + experiment));
  return all;
}

std::vector<StoredPlan> plans_before_runs(
    const Store& store, const std::vector<std::pair<std::string, std::string>>& runs) {
  Statement select(
      store.impl().connection(),
      "WITH asked AS (SELECT r.number, j.value ->> 1 AS label FROM json_each(?1) j"
      "  JOIN runs r ON r.id = j.value ->> 0)"
      " SELECT e.comparison, e.id FROM experiments e"
      " WHERE e.comparison NOTNULL"
      " AND (SELECT count(*) FROM asked) = json_array_length(?1)"
      " AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run IN"
      "  (SELECT number FROM asked) AND a.started < coalesce(e.first_asked, e.created))"
      " AND NOT EXISTS (SELECT 1 FROM asked s WHERE NOT EXISTS"
      "  (SELECT 1 FROM experiment_runs m WHERE m.experiment = e.number"
      "   AND m.run = s.number AND m.label = s.label))"
      " ORDER BY coalesce(e.first_asked, e.created), e.number");
  std::vector<StoredPlan> all;
  for (select.bind(json_text(runs)); select.step();)
    all.push_back({select.text(1), stored_object(select, 0, "experiment " + select.text(1))});
  return all;
}

}  // namespace acid
