#include "store/remove.hpp"

#include <algorithm>
#include <set>

#include "store/at_work.hpp"
#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/rows.hpp"
#include "store/upkeep.hpp"

namespace acid {
namespace {

using nlohmann::json;

// ?1: the ids of the runs that go, ?2: of the experiments, as JSON lists.
constexpr const char* kGoingRuns =
    "SELECT r.id FROM runs r WHERE r.id IN (SELECT value FROM json_each(?1))"
    " OR (EXISTS (SELECT 1 FROM experiment_runs m JOIN experiments e ON e.number = m.experiment"
    "   WHERE m.run = r.number AND e.id IN (SELECT value FROM json_each(?2)))"
    "  AND NOT EXISTS (SELECT 1 FROM experiment_runs m JOIN experiments e"
    "   ON e.number = m.experiment"
    "   WHERE m.run = r.number AND e.id NOT IN (SELECT value FROM json_each(?2))))"
    " ORDER BY r.number";
constexpr const char* kEmptied =
    "SELECT e.id FROM experiments e WHERE e.id NOT IN (SELECT value FROM json_each(?2))"
    " AND EXISTS (SELECT 1 FROM experiment_runs WHERE experiment = e.number)"
    " AND NOT EXISTS (SELECT 1 FROM experiment_runs m JOIN runs r ON r.number = m.run"
    "  WHERE m.experiment = e.number AND r.id NOT IN (SELECT value FROM json_each(?1)))"
    " ORDER BY e.number";

std::string attempts_of_going() {
  return "SELECT a.id FROM attempts a JOIN runs r ON r.number = a.run"
         " WHERE r.id IN (SELECT value FROM json_each(?1))";
}

void count(const Store& store, Removal& removal) {
  const Connection& connection = store.impl().connection();
  const std::string runs = json(removal.runs).dump(), attempts = attempts_of_going();
  removal.attempts = static_cast<std::size_t>(
      one_number(connection, fmt::format("SELECT count(*) FROM ({})", attempts), runs));
  removal.values = one_number(connection,
                              fmt::format("SELECT count(*) FROM points WHERE {}",
                                          rows_of_attempts(connection, "points", attempts)),
                              runs);
  removal.events = one_number(connection,
                              fmt::format("SELECT sum(count) FROM event_chunks WHERE {}",
                                          rows_of_attempts(connection, "event_chunks", attempts)),
                              runs);
  const std::set<std::string> going(removal.runs.begin(), removal.runs.end());
  // Files that were let go of lie there, too, until they are collected.
  for (const auto& [path, look] : list_checkpoint_folder(store.folder())) {
    if (look.is != FileLook::Is::plain || !going.contains(run_folder_of(path))) continue;
    removal.files.push_back(path);
    removal.file_bytes += look.bytes;
  }
}

/// The runs for which `runs` holds, each with its experiments that stay.
std::vector<Removal::Shared> shared(const Connection& connection, const Removal& removal,
                                    const char* condition) {
  std::vector<std::string> gone = removal.experiments;
  gone.insert(gone.end(), removal.emptied.begin(), removal.emptied.end());
  Statement select(
      connection,
      fmt::format("SELECT r.id, e.id FROM runs r JOIN experiment_runs m ON m.run = r.number"
                  " JOIN experiments e ON e.number = m.experiment WHERE e.id NOT IN"
                  " (SELECT value FROM json_each(?2)) AND {} ORDER BY r.number, e.number",
                  condition));
  std::vector<Removal::Shared> all;
  for (select.bind(json(removal.runs).dump(), json(gone).dump()); select.step();) {
    if (all.empty() || all.back().id != select.text(0)) all.push_back({select.text(0), {}});
    all.back().experiments.push_back(select.text(1));
  }
  return all;
}

void refuse_while_executed(const Store& store, const Removal& removal) {
  const std::set<std::string> going(removal.runs.begin(), removal.runs.end());
  for (const OpenAttempt& attempt : open_attempts(store.impl().connection()))
    if (attempt.goes_on && going.contains(attempt.run))
      throw StoreError(
          fmt::format("process {} on host {} executes run {} since {}: nothing was removed; {}",
                      attempt.lease.pid, attempt.lease.host, attempt.run, attempt.started,
                      how_to_end(attempt)));
  for (const std::string& run : runs_at_work(store.folder()))
    if (going.contains(run))
      throw StoreError(fmt::format(
          "a process goes on with run {}: nothing was removed. Wait for it, or stop it, and try "
          "again",
          run));
}

Removal found_in(const Store& store, const Named& named) {
  const Connection& connection = store.impl().connection();
  const std::string experiments = json(named.experiments).dump();
  Removal removal;
  removal.experiments = named.experiments;
  removal.runs = texts(connection, kGoingRuns, json(named.runs).dump(), experiments);
  const std::string runs = json(removal.runs).dump();
  removal.emptied = texts(connection, kEmptied, runs, experiments);
  removal.kept = shared(connection, removal,
                        "r.id NOT IN (SELECT value FROM json_each(?1)) AND EXISTS (SELECT 1 FROM"
                        " experiment_runs o JOIN experiments x ON x.number = o.experiment WHERE"
                        " o.run = r.number AND x.id IN (SELECT value FROM json_each(?2)))");
  removal.taken_out = shared(connection, removal, "r.id IN (SELECT value FROM json_each(?1))");
  removal.predictions =
      texts(connection,
            "SELECT r.id FROM predictions p JOIN runs r ON r.number = p.run WHERE p.experiment IN"
            " (SELECT value FROM json_each(?2)) AND r.id NOT IN (SELECT value FROM json_each(?1))"
            " ORDER BY r.number",
            runs, experiments);
  refuse_while_executed(store, removal);
  count(store, removal);
  return removal;
}

void remove_rows(const Connection& connection, const Removal& removal) {
  const std::string runs = json(removal.runs).dump();
  std::vector<std::string> experiments = removal.experiments;
  experiments.insert(experiments.end(), removal.emptied.begin(), removal.emptied.end());
  const auto remove = [&](const std::string& from_where, const std::string& list) {
    Statement(connection, "DELETE FROM " + from_where).bind(list).run();
  };
  remove("experiments WHERE id IN (SELECT value FROM json_each(?))", json(experiments).dump());
  delete_attempts(connection, attempts_of_going(), runs);
  for (const std::string& table : tables_of(connection)) {
    const std::vector<std::string> columns = columns_of(connection, table);
    if (std::ranges::find(columns, "run") != columns.end())
      remove(table +
                 " WHERE run IN (SELECT number FROM runs WHERE id IN"
                 " (SELECT value FROM json_each(?)))",
             runs);
  }
  remove("runs WHERE id IN (SELECT value FROM json_each(?))", runs);
  for (const char* const table : {"tags", "notes"})
    for (const auto& [kind, ids] :
         {std::pair("run", runs), {"experiment", json(experiments).dump()}})
      remove(fmt::format("{} WHERE kind = '{}' AND id IN (SELECT value FROM json_each(?))", table,
                         kind),
             ids);
}

/// The numbers of the experiments that lose runs and stay, if their seals hold.
std::vector<std::int64_t> sound_experiments(const Connection& connection, const Removal& removal) {
  std::set<std::string> ids;
  for (const Removal::Shared& run : removal.taken_out)
    ids.insert(run.experiments.begin(), run.experiments.end());
  std::vector<std::int64_t> sound;
  Statement number(connection, "SELECT number FROM experiments WHERE id = ?");
  for (const std::string& id : ids)
    if (number.bind(id).step() && broken_experiment(connection, number.integer(0)).empty())
      sound.push_back(number.integer(0));
  return sound;
}

}  // namespace

Removal find_removal(const Store& store, const Named& named) {
  const Transaction one_view(store.impl().connection(), Transaction::Kind::read);
  return found_in(store, named);
}

std::string remove_from(Store& store, const Named& named, const Removal& expected) {
  Connection& connection = store.impl().connection();
  refuse_if_damaged(connection, "quick_check");
  {
    Transaction transaction(connection, Transaction::Kind::write);
    connection.execute("PRAGMA defer_foreign_keys = ON");
    if (found_in(store, named) != expected)
      throw StoreError("the store has changed meanwhile: nothing was removed; look again");
    const bool lists = lists_are_sealed(connection), tags = tags_are_sealed(connection);
    const std::vector<std::int64_t> sound = sound_experiments(connection, expected);
    remove_rows(connection, expected);
    for (const std::int64_t experiment : sound) seal_experiment(connection, experiment);
    if (lists) seal_lists(connection);
    if (tags) seal_tags(connection);
    transaction.commit();
  }
  try {
    remove_unnamed(store.folder(), connection, expected.files);
  } catch (const StoreError& error) {
    // The same words could name other runs now.
    throw StoreError(
        fmt::format("{}: with 'acid gc', for the runs are removed already", error.what()));
  }
  return give_space_back(store.folder(), connection);
}

}  // namespace acid
