#include "store/proof.hpp"

#include <array>

#include "engine/base/digest.hpp"

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;

/// Rows in a digest. What the rows of one query are cannot be taken for those of another.
class RowDigest {
 public:
  explicit RowDigest(const Connection& connection) : connection_(connection) {}

  template <class... Values>
  void add(std::string_view query, const Values&... values) {
    Statement select(connection_, query);
    select.bind(values...);
    bytes_ += "query";
    while (select.step()) {
      select.append_row(bytes_);
      if (bytes_.size() >= kBytesAtOnce) flush();
    }
  }
  /// Of a table that stores of before do not have: without rows nothing is added.
  void add_rows(std::string_view query, std::int64_t value) {
    Statement any(connection_, query);
    any.bind(value);
    if (any.step()) add(query, value);
  }
  std::string hex() {
    flush();
    return digest_.hex();
  }

 private:
  static constexpr std::size_t kBytesAtOnce = 1 << 16;
  void flush() {
    digest_.update(bytes_);
    bytes_.clear();
  }

  const Connection& connection_;
  Sha256 digest_;
  std::string bytes_;
};

// ?1: the run's number. What counts of an attempt is what is not superseded.
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

// ?1: the id of the run's newest attempt, which is what ended.
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

}  // namespace

std::string proof_of(const Connection& connection, std::int64_t run) {
  RowDigest digest(connection);
  for (const char* query : kOfAllAttempts) digest.add(query, run);
  add_series(connection, run, digest);
  Statement newest(connection,
                   "SELECT id FROM attempts WHERE run = ? ORDER BY number DESC LIMIT 1");
  if (newest.bind(run).step()) {
    for (const char* query : kOfNewestAttempt) digest.add(query, newest.integer(0));
    digest.add_rows(kHoldings, newest.integer(0));
  }
  return digest.hex();
}

}  // namespace acid
