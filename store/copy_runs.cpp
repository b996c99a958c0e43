#include "store/copy_runs.hpp"

#include <filesystem>

#include "engine/base/digest.hpp"
#include "store/files.hpp"
#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/queries.hpp"
#include "store/rows.hpp"

namespace acid {
namespace fs = std::filesystem;
namespace {

/// An SQL condition for the rows of a table that belong to the runs whose numbers are in `?1`, a
/// JSON list. The condition uses the column that leads to a run. Experiments are those whose ids
/// are in `?2`; when `?2` is empty, all that ask for these runs.
std::string rows_of_runs(const Connection& connection, const std::string& table) {
  const std::string runs = "SELECT value FROM json_each(?1)";
  const std::string attempts = "SELECT id FROM attempts WHERE run IN (" + runs + ")";
  if (table == "runs") return "number IN (" + runs + ")";
  const std::string named = "SELECT value FROM json_each(?2)";
  const std::string is_named = "(NOT EXISTS (" + named + ") OR id IN (" + named + "))";
  if (table == "experiments")
    return is_named + " AND number IN (SELECT experiment FROM experiment_runs WHERE run IN (" +
           runs + "))";
  if (table == "experiment_runs")
    return "run IN (" + runs + ") AND experiment IN (SELECT number FROM experiments WHERE " +
           is_named + ")";
  if (table == "tags" || table == "notes")
    return fmt::format(
        "((kind = 'run' AND id IN (SELECT id FROM runs WHERE {})) OR (kind = 'experiment' AND id"
        " IN (SELECT id FROM experiments WHERE {})))",
        rows_of_runs(connection, "runs"), rows_of_runs(connection, "experiments"));
  if (!way_to_attempt(connection, table).empty())
    return rows_of_attempts(connection, table, attempts);
  return "run IN (" + runs + ")";
}

/// The copy may have fewer experiments and runs, so it gets new seals of which ones it has. It gets
/// them only where the seals of the original hold.
void seal_copies(const Connection& from, const Connection& to) {
  for (const std::int64_t experiment : numbers(to, "SELECT number FROM experiments"))
    if (broken_experiment(from, experiment).empty()) seal_experiment(to, experiment);
  if (lists_are_sealed(from)) seal_lists(to);
  if (tags_are_sealed(from)) seal_tags(to);
}

std::string numbers_of(const Connection& connection, const std::vector<std::string>& run_ids) {
  Statement find(connection, "SELECT number FROM runs WHERE id = ?");
  nlohmann::json numbers = nlohmann::json::array();
  for (const std::string& id : run_ids) {
    if (!find.bind(id).step()) throw UsageError(fmt::format("there is no run {}", id));
    numbers.push_back(find.integer(0));
  }
  return numbers.dump();
}

void copy_model(const Store& store, const AttemptResult::Artifact& artifact, const std::string& run,
                const std::string& folder) {
  const std::string from = checked_path(store, artifact.path), to = folder + "/" + artifact.path;
  std::error_code error;
  fs::create_directories(fs::path(to).parent_path(), error);
  if (!error) fs::copy_file(from, to, error);
  if (error)
    throw StoreError(
        fmt::format("cannot copy {}, a model of run {}, to {}: {}; was the store moved without its "
                    "checkpoints folder, or is the disk full?",
                    from, run, to, error.message()));
  if (sha256_file(to) != artifact.sha256) throw damaged_file(from, artifact.sha256);
}

}  // namespace

void copy_runs(const Store& store, const AskedRuns& asked, const std::string& folder,
               FinalModels models) {
  const Connection& from = store.impl().connection();
  std::error_code error;
  fs::create_directories(fs::path(folder) / "checkpoints", error);
  if (error || fs::exists(folder + "/store.db", error))
    throw StoreError(fmt::format("cannot make a store in {}: {}", folder,
                                 error ? error.message() : "there is one already"));
  {
    const Transaction one_view(from, Transaction::Kind::read);
    const Connection to(folder + "/store.db", folder, Connection::Mode::write);
    // The copy appears with the folder around it, as a whole or not at all, so it needs no journal.
    to.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    migrate(to, migrations());
    Transaction copying(to, Transaction::Kind::write);
    to.execute("PRAGMA defer_foreign_keys = ON");
    const std::string runs = numbers_of(from, asked.ids);
    const std::string experiments = json_text(asked.experiments);
    for (const std::string& table : tables_of(from))
      copy_rows(from, to, table, "?2 NOTNULL AND " + rows_of_runs(from, table), as_it_is, runs,
                experiments);
    to.execute("UPDATE checkpoints SET removed = created WHERE removed IS NULL");
    if (models == FinalModels::left_out)
      to.execute(
          "UPDATE artifacts SET removed = (SELECT ended FROM attempts WHERE id = attempt)"
          " WHERE removed IS NULL");
    seal_copies(from, to);
    copying.commit();
  }
  const Store copy(folder, Store::Access::read);
  for (const std::string& id : asked.ids)
    if (const auto result = run_detail(copy, id).result)
      for (const auto& artifact : result->artifacts)
        if (artifact.removed.empty()) copy_model(store, artifact, id, folder);
}

}  // namespace acid
