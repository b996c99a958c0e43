// Through which experiment a run was asked for, when several share it.
#include <algorithm>
#include <unordered_map>

#include "store/impl.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;
using sqlite::Transaction;

struct Experiment {
  std::int64_t number = 0;
  std::string id, name;
};

/// The experiments all of whose runs are among `ids`: largest first, then newest.
std::vector<Experiment> wholly_among(const Connection& connection, const std::string& ids) {
  Statement select(connection,
                   "SELECT e.number, e.id, e.name FROM experiments e"
                   " JOIN experiment_runs m ON m.experiment = e.number"
                   " JOIN runs r ON r.number = m.run"
                   " GROUP BY e.number"
                   " HAVING count(*) = sum(r.id IN (SELECT value FROM json_each(?)))"
                   " ORDER BY count(*) DESC, e.number DESC");
  select.bind(ids);
  std::vector<Experiment> experiments;
  while (select.step()) experiments.push_back({select.integer(0), select.text(1), select.text(2)});
  return experiments;
}

}  // namespace

std::vector<RunSummary> runs_as_asked(const Store& store, const std::vector<std::string>& run_ids) {
  const Connection& connection = store.impl().connection();
  std::vector<RunSummary> runs = run_summaries(store, run_ids);
  std::unordered_map<std::string, RunSummary*> left;
  for (RunSummary& run : runs) left[run.id] = &run;
  const Transaction one_view(connection, Transaction::Kind::read);
  Statement members(connection,
                    "SELECT r.id, m.label FROM experiment_runs m JOIN runs r ON r.number = m.run"
                    " WHERE m.experiment = ?");
  for (const Experiment& experiment : wholly_among(connection, json_text(run_ids))) {
    members.bind(experiment.number);
    while (members.step()) {
      const auto run = left.find(stored_run_id(members, 0));
      if (run == left.end()) continue;
      run->second->experiment = experiment.id;
      run->second->experiment_name = experiment.name;
      run->second->label = members.text(1);
      left.erase(run);
    }
    members.reset();
  }
  return runs;
}

ExperimentRecord experiment_of(const Store& store, const RunSummary& run) {
  Statement find(store.impl().connection(),
                 "SELECT id, name, recipe_path, recipe_text, recipe_digest, overrides,"
                 " command_line FROM experiments WHERE id = ?");
  if (!find.bind(run.experiment).step()) return {};
  return {find.text(0), find.text(1), find.text(2),
          find.text(3), find.text(4), stored_texts(find, 5, "experiment " + run.experiment),
          find.text(6)};
}

}  // namespace acid
