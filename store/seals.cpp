#include <fmt/format.h>

#include "engine/base/digest.hpp"
#include "store/proof.hpp"

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;

constexpr const char* kSealedOfRun =
    "SELECT seal, id, digest, group_digest, algorithm, seed, driver, topology, workers,"
    " budget_gradients, settings, plan FROM runs WHERE number = ?1";
// Searches and comparisons came later: where there is none, seals are those of before.
constexpr const char* kSealedOfExperiment =
    "SELECT seal, id, name, recipe_path, recipe_text, recipe_digest, overrides,"
    " command_line || coalesce(char(10) || search, '')"
    " || coalesce(char(10, 10) || comparison, '') FROM experiments WHERE number = ?1";
constexpr const char* kSealedOfMember =
    "SELECT m.seal, e.id, m.position, r.digest,"
    " m.label || iif(m.role = '', '', char(10) || m.role) FROM experiment_runs m"
    " JOIN experiments e ON e.number = m.experiment JOIN runs r ON r.number = m.run"
    " WHERE m.experiment = ?1 AND m.position = ?2";

/// Of the row that a statement is at, whose first column is the seal it has.
std::string seal_of(const Statement& row) {
  std::string bytes;
  row.append_row(bytes, 1);
  return sha256_hex(std::string_view(bytes));
}

class SealCheck {
 public:
  SealCheck(const Connection& connection, bool all_sealed)
      : connection_(connection), all_sealed_(all_sealed) {}

  template <class... Key>
  void look(const char* query, const std::string& what, const Key&... key) {
    Statement row(connection_, query);
    if (!row.bind(key...).step()) return;
    if (row.is_null(0) ? all_sealed_ : row.text(0) != seal_of(row))
      broken.push_back(what + " is not as it was written");
  }
  std::vector<std::string> broken;

 private:
  const Connection& connection_;
  const bool all_sealed_;
};

}  // namespace

void seal_run(const Connection& connection, std::int64_t run) {
  Statement row(connection, kSealedOfRun);
  row.bind(run).step();
  const std::string seal = seal_of(row);
  row.reset();
  Statement(connection, "UPDATE runs SET seal = ? WHERE number = ?").bind(seal, run).run();
}

void seal_experiment(const Connection& connection, std::int64_t experiment) {
  Statement row(connection, kSealedOfExperiment);
  row.bind(experiment).step();
  const std::string seal = seal_of(row);
  row.reset();
  Statement(connection, "UPDATE experiments SET seal = ? WHERE number = ?")
      .bind(seal, experiment)
      .run();
  Statement count(connection,
                  "SELECT coalesce(max(position), -1) FROM experiment_runs WHERE experiment = ?");
  count.bind(experiment).step();
  const std::int64_t last = count.integer(0);
  Statement member(connection, kSealedOfMember);
  Statement update(connection,
                   "UPDATE experiment_runs SET seal = ? WHERE experiment = ? AND position = ?");
  for (std::int64_t position = 0; position <= last; ++position) {
    if (!member.bind(experiment, position).step()) continue;  // a run that was listed before
    const std::string own = seal_of(member);
    member.reset();
    update.bind(own, experiment, position).run();
  }
}

void seal_what_is_not(const Connection& connection, std::int64_t run) {
  Statement unsealed(connection, "SELECT 1 FROM runs WHERE number = ? AND seal IS NULL");
  if (unsealed.bind(run).step()) seal_run(connection, run);
  unsealed.reset();
  // An earlier acid wrote an experiment as a whole.
  Statement older(connection,
                  "SELECT number FROM experiments WHERE seal IS NULL AND number IN"
                  " (SELECT experiment FROM experiment_runs WHERE run = ?)");
  std::vector<std::int64_t> experiments;
  for (older.bind(run); older.step();) experiments.push_back(older.integer(0));
  for (const std::int64_t experiment : experiments) seal_experiment(connection, experiment);
}

std::vector<std::string> broken_seals(const Connection& connection, std::int64_t run,
                                      bool all_sealed) {
  SealCheck check(connection, all_sealed);
  check.look(kSealedOfRun, "what was asked for (settings, plan, identity)", run);
  Statement members(connection,
                    "SELECT m.experiment, m.position, e.id FROM experiment_runs m"
                    " JOIN experiments e ON e.number = m.experiment WHERE m.run = ?"
                    " ORDER BY m.experiment");
  members.bind(run);
  while (members.step()) {
    check.look(kSealedOfMember, fmt::format("its label in experiment {}", members.text(2)),
               members.integer(0), members.integer(1));
    check.look(
        kSealedOfExperiment,
        fmt::format("the recipe of experiment {} (text, digest, overrides, name)", members.text(2)),
        members.integer(0));
  }
  return std::move(check.broken);
}

}  // namespace acid
