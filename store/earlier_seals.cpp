// Seals and proofs as stores up to version 8 have them. They are checked once, when such a store is
// migrated to this version. The rules are frozen, even where they nearly equal those of proof.cpp
// and seals.cpp: the rules there may change with the next version, the seals in a store of version
// 8 do not change.
#include <array>
#include <optional>

#include "store/proof.hpp"
#include "store/row_digest.hpp"
#include "store/select.hpp"

namespace acid {
namespace earlier {
namespace {

constexpr const char* kRun =
    "SELECT seal, id, digest, group_digest, algorithm, seed, driver, topology, workers,"
    " budget_gradients, settings, plan FROM runs WHERE number = ?1";
constexpr const char* kExperiment =
    "SELECT seal, id, name, recipe_path, recipe_text, recipe_digest, overrides,"
    " command_line || coalesce(char(10) || search, '')"
    " || coalesce(char(10, 10) || comparison, '') FROM experiments WHERE number = ?1";
constexpr const char* kMember =
    "SELECT m.seal, e.id, m.position, r.digest,"
    " m.label || iif(m.role = '', '', char(10) || m.role) FROM experiment_runs m"
    " JOIN experiments e ON e.number = m.experiment JOIN runs r ON r.number = m.run"
    " WHERE m.experiment = ?1 AND m.position = ?2";

// ?1: the run's number.
constexpr std::array kOfAllAttempts{
    "SELECT a.number, a.valid_until_tick, a.valid_until_chunk, c.number, a.changed"
    " FROM attempts a LEFT JOIN checkpoints c ON c.id = a.resumed_from WHERE a.run = ?1"
    " ORDER BY a.number",
    "SELECT a.number, t.tick, t.gradients, t.normalised_time, t.seconds, t.bytes FROM attempts a"
    " JOIN ticks t ON t.attempt = a.id"
    "  AND (a.valid_until_tick IS NULL OR t.tick <= a.valid_until_tick)"
    " WHERE a.run = ?1 ORDER BY a.number, t.tick",
    "SELECT a.number, k.chunk, k.worker, k.first, k.count, k.events FROM attempts a"
    " JOIN event_chunks k ON k.attempt = a.id"
    "  AND (a.valid_until_chunk IS NULL OR k.chunk <= a.valid_until_chunk)"
    " WHERE a.run = ?1 ORDER BY a.number, k.chunk",
    "SELECT a.number, c.number, c.step, c.gradients, c.normalised_time, c.seconds, c.bytes,"
    " c.last_tick, c.last_chunk, c.sha256, c.file_bytes FROM attempts a"
    " JOIN checkpoints c ON c.attempt = a.id AND c.superseded = 0"
    " WHERE a.run = ?1 ORDER BY c.number",
    "SELECT c.number, d.worker, d.digest, d.tensors FROM attempts a"
    " JOIN checkpoints c ON c.attempt = a.id AND c.superseded = 0"
    " JOIN cut_digests d ON d.checkpoint = c.id WHERE a.run = ?1 ORDER BY c.number, d.worker",
    "SELECT a.number, l.time, l.severity, l.text FROM attempts a JOIN log l ON l.attempt = a.id"
    " WHERE a.run = ?1 ORDER BY l.id"};

// ?1: the id of the run's newest attempt, the only one of which the end counts.
constexpr std::array kOfNewestAttempt{
    "SELECT coalesce(outcome, 'interrupted'), iif(outcome IN ('finished', 'diverged'), message,"
    " NULL), gradients, normalised_time, seconds, bytes, environment, seeds FROM attempts"
    " WHERE id = ?1",
    "SELECT position, path, sha256 FROM file_digests WHERE attempt = ?1 ORDER BY position",
    "SELECT mean_digest, realised_rate, realised_chi1, realised_chi2, exchanges_drawn,"
    " exchanges_done, exchanges_waiting, staleness, samples_skipped, evaluations_skipped,"
    " checkpoints_skipped FROM results WHERE attempt = ?1",
    "SELECT worker, digest, gradients, idle_seconds FROM worker_results WHERE attempt = ?1"
    " ORDER BY worker",
    "SELECT i, j, nominal_rate, exchanges FROM edges WHERE attempt = ?1 ORDER BY i, j",
    "SELECT position, role, path, sha256, bytes FROM artifacts WHERE attempt = ?1"
    " ORDER BY position",
    "SELECT worker, spans FROM worker_spans WHERE attempt = ?1 ORDER BY worker"};

constexpr const char* kHoldings =
    "SELECT worker, examples, classes FROM holdings WHERE attempt = ?1 ORDER BY worker";

void add_series(const Connection& connection, std::int64_t run, RowDigest& digest) {
  Statement series(connection,
                   "SELECT s.id, coalesce(a.valid_until_tick, s.last_tick) FROM attempts a"
                   " JOIN series s ON s.attempt = a.id"
                   " WHERE a.run = ? AND coalesce(a.valid_until_tick, 1) > 0"
                   " ORDER BY a.number, s.worker, s.metric");
  series.bind(run);
  while (series.step()) {
    digest.add(
        "SELECT a.number, s.worker, s.metric, s.unit, s.better, s.count, s.last_tick, s.last,"
        " s.last_special, s.best_tick, s.best FROM series s JOIN attempts a ON a.id = s.attempt"
        " WHERE s.id = ?",
        series.integer(0));
    digest.add(
        "SELECT tick, value, special FROM points WHERE series = ? AND tick <= ? ORDER BY tick",
        series.integer(0), series.integer(1));
  }
}

/// Whether the first column of a row is the seal of its other columns, or NULL.
template <class... Keys>
bool holds(const Connection& connection, const char* query, const Keys&... keys) {
  Statement row(connection, query);
  if (!row.bind(keys...).step() || row.is_null(0)) return true;
  std::string bytes;
  row.append_row(bytes, 1);
  return row.text(0) == sha256_hex(std::string_view(bytes));
}

std::string earlier_proof_of(const Connection& connection, std::int64_t run,
                             std::int64_t newest_attempt) {
  RowDigest digest(connection);
  for (const char* query : kOfAllAttempts) digest.add(query, run);
  add_series(connection, run, digest);
  for (const char* query : kOfNewestAttempt) digest.add(query, newest_attempt);
  Statement any(connection, kHoldings);  // a run without rows added nothing to the digest
  if (any.bind(newest_attempt).step()) digest.add(kHoldings, newest_attempt);
  return digest.hex();
}

void seal_what_was_left(const Connection& connection, std::int64_t run) {
  Statement newest(connection,
                   "SELECT id, outcome IS NOT NULL,"
                   " (SELECT count(proof) FROM verifications WHERE attempt = a.id),"
                   " EXISTS (SELECT 1 FROM verifications WHERE attempt = a.id)"
                   " FROM attempts a WHERE run = ? ORDER BY number DESC LIMIT 1");
  if (!newest.bind(run).step()) return;
  const std::int64_t attempt = newest.integer(0);
  const bool has_proof = newest.integer(2) > 0;
  const bool gets_seal = newest.integer(1) != 0 || newest.integer(3) != 0;
  newest.reset();
  if (has_proof)
    Statement(connection, "UPDATE verifications SET proof = ? WHERE attempt = ? AND proof = ?")
        .bind(proof_of(left_of(connection, run)), attempt,
              earlier_proof_of(connection, run, attempt))
        .run();
  if (gets_seal) seal_left(connection, run);
}

}  // namespace
}  // namespace earlier

void seal_again(const sqlite::Connection& connection) {
  for (const std::int64_t run : numbers(connection, "SELECT number FROM runs")) {
    if (earlier::holds(connection, earlier::kRun, run)) seal_run(connection, run);
    earlier::seal_what_was_left(connection, run);
  }
  for (const std::int64_t experiment : numbers(connection, "SELECT number FROM experiments")) {
    for (const std::int64_t position : numbers(
             connection, "SELECT position FROM experiment_runs WHERE experiment = ?", experiment))
      if (earlier::holds(connection, earlier::kMember, experiment, position))
        seal_member(connection, experiment, position);
    if (earlier::holds(connection, earlier::kExperiment, experiment))
      seal_experiment(connection, experiment);
  }
  seal_lists(connection);
}

}  // namespace acid
