#include "store/proof.hpp"

#include <algorithm>
#include <array>

#include "engine/base/digest.hpp"
#include "store/row_digest.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

/// A part of what a run's attempts left, without what is superseded.
struct LeftPart {
  const char* name;
  const char* title;
  std::array<const char*, 2> queries;  // ?1: the run's number; null: none
  /// Whether a run has it; null: every run. The seals of runs without it do not name it.
  const char* exists = nullptr;
};

// The digest leaves out what acid itself changes later without executing anything: the date of a
// file that was let go of, and the last sign of life of a process.
constexpr const char* kAttempts =
    "SELECT a.number, (SELECT digest FROM runs WHERE number = a.run), a.host, a.boot_id, a.pid, "
    "a.process_start, a.started, " ACID_HOW_IT_ENDED
    ", a.valid_until_tick, a.valid_until_chunk, a.gradients, a.normalised_time,"
    " a.seconds, a.bytes, a.environment, a.seeds, a.resumed_from, c.number, a.changed"
    " FROM attempts a LEFT JOIN checkpoints c ON c.id = a.resumed_from WHERE a.run = ?1"
    " ORDER BY a.number";
constexpr const char* kFiles =
    "SELECT a.number, f.position, f.path, f.sha256 FROM attempts a"
    " JOIN file_digests f ON f.attempt = a.id WHERE a.run = ?1 ORDER BY a.number, f.position";
constexpr const char* kTicks =
    "SELECT a.number, t.tick, t.gradients, t.normalised_time, t.seconds, t.bytes FROM attempts a"
    " JOIN ticks t ON t.attempt = a.id"
    "  AND (a.valid_until_tick IS NULL OR t.tick <= a.valid_until_tick)"
    " WHERE a.run = ?1 ORDER BY a.number, t.tick";
constexpr const char* kEvents =
    "SELECT a.number, k.chunk, k.worker, k.first, k.count, k.events FROM attempts a"
    " JOIN event_chunks k ON k.attempt = a.id"
    "  AND (a.valid_until_chunk IS NULL OR k.chunk <= a.valid_until_chunk)"
    " WHERE a.run = ?1 ORDER BY a.number, k.chunk";
constexpr const char* kCheckpoints =
    "SELECT a.number, c.number, c.step, c.gradients, c.normalised_time, c.seconds, c.bytes,"
    " c.last_tick, c.last_chunk, c.path, c.sha256, c.file_bytes, c.created FROM attempts a"
    " JOIN checkpoints c ON c.attempt = a.id AND c.superseded = 0"
    " WHERE a.run = ?1 ORDER BY c.number";
constexpr const char* kCuts =
    "SELECT c.number, d.worker, d.digest, d.tensors FROM attempts a"
    " JOIN checkpoints c ON c.attempt = a.id AND c.superseded = 0"
    " JOIN cut_digests d ON d.checkpoint = c.id WHERE a.run = ?1 ORDER BY c.number, d.worker";
constexpr const char* kLog =
    "SELECT a.number, l.time, l.severity, l.text FROM attempts a JOIN log l ON l.attempt = a.id"
    " WHERE a.run = ?1 ORDER BY l.id";
constexpr const char* kResults =
    "SELECT a.number, x.mean_digest, x.realised_rate, x.realised_chi1, x.realised_chi2,"
    " x.exchanges_drawn, x.exchanges_done, x.exchanges_waiting, x.staleness, x.samples_skipped,"
    " x.evaluations_skipped, x.checkpoints_skipped FROM attempts a"
    " JOIN results x ON x.attempt = a.id WHERE a.run = ?1 ORDER BY a.number";
constexpr const char* kWorkers =
    "SELECT a.number, w.worker, w.digest, w.gradients, w.idle_seconds FROM attempts a"
    " JOIN worker_results w ON w.attempt = a.id WHERE a.run = ?1 ORDER BY a.number, w.worker";
constexpr const char* kEdges =
    "SELECT a.number, g.i, g.j, g.nominal_rate, g.exchanges FROM attempts a"
    " JOIN edges g ON g.attempt = a.id WHERE a.run = ?1 ORDER BY a.number, g.i, g.j";
constexpr const char* kSpans =
    "SELECT a.number, s.worker, s.spans FROM attempts a"
    " JOIN worker_spans s ON s.attempt = a.id WHERE a.run = ?1 ORDER BY a.number, s.worker";
constexpr const char* kHoldings =
    "SELECT a.number, h.worker, h.examples, h.classes FROM attempts a"
    " JOIN holdings h ON h.attempt = a.id WHERE a.run = ?1 ORDER BY a.number, h.worker";
constexpr const char* kModels =
    "SELECT a.number, f.position, f.role, f.path, f.sha256, f.bytes FROM attempts a"
    " JOIN artifacts f ON f.attempt = a.id AND a.valid_until_tick IS NULL"
    " WHERE a.run = ?1 ORDER BY a.number, f.position";
constexpr const char* kPrediction = "SELECT made, experiment FROM predictions WHERE run = ?1";
constexpr const char* kPredicted =
    "SELECT position, quantity, normalised_time, mean, low, high, draws FROM predicted_values"
    " WHERE run = ?1 ORDER BY position";
constexpr const char* kIsPredicted =
    "SELECT 1 FROM predictions WHERE run = ?1 UNION ALL"
    " SELECT 1 FROM predicted_values WHERE run = ?1 LIMIT 1";
constexpr const char* kVerifications =
    "SELECT a.number, v.time, v.host, v.equal, v.message, v.checkpoint, c.number, v.environment, "
    "v.proof"
    " FROM attempts a JOIN verifications v ON v.attempt = a.id"
    " LEFT JOIN checkpoints c ON c.id = v.checkpoint WHERE a.run = ?1 ORDER BY v.id";

const std::array kLeftParts{
    LeftPart{"checkpoints", "the record of its checkpoints", {kCheckpoints, kCuts}},
    LeftPart{"edges", "the record of its edges", {kEdges}},
    LeftPart{"events", "its event log", {kEvents}},
    LeftPart{
        kExecutionPart, "the record of its attempts (when, where, how they ended)", {kAttempts}},
    LeftPart{"files", "the list of the files it read", {kFiles}},
    LeftPart{"holdings", "the record of what its workers hold", {kHoldings}},
    LeftPart{"log", "its log", {kLog}},
    LeftPart{"models", "the record of its final model", {kModels}},
    LeftPart{kPredictionPart, "its prediction", {kPrediction, kPredicted}, kIsPredicted},
    LeftPart{"results", "the record of its results", {kResults, kWorkers}},
    LeftPart{"samples", "the record of where its samples lie", {kTicks}},
    LeftPart{"timelines", "the record of its workers' time", {kSpans}},
    LeftPart{"values", "the record of its values", {}},  // see add_series()
    LeftPart{kVerificationsPart, "the record of its verifications", {kVerifications}}};

void add_series(const Connection& connection, std::int64_t run, RowDigest& digest) {
  Statement series(connection,
                   "SELECT s.id, coalesce(a.valid_until_tick, 9223372036854775807) FROM attempts a"
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

const LeftPart& part_named(std::string_view name) {
  return *std::ranges::find(kLeftParts, name,
                            [](const LeftPart& part) { return std::string_view(part.name); });
}

std::string digest_of_part(const Connection& connection, std::int64_t run, const LeftPart& part) {
  RowDigest digest(connection);
  for (const char* query : part.queries)
    if (query != nullptr) digest.add(query, run);
  if (part.queries.front() == nullptr) add_series(connection, run, digest);
  return digest.hex();
}

}  // namespace

Left left_of(const Connection& connection, std::int64_t run) {
  Left left;
  for (const LeftPart& part : kLeftParts)
    if (part.exists == nullptr || Statement(connection, part.exists).bind(run).step())
      left[part.name] = digest_of_part(connection, run, part);
  return left;
}

std::string part_of(const Connection& connection, std::int64_t run, std::string_view part) {
  return digest_of_part(connection, run, part_named(part));
}

std::string_view title_of_part(std::string_view part) { return part_named(part).title; }

std::string proof_of(const Left& left) {
  std::string all;
  for (const auto& [part, digest] : left)
    if (part != kVerificationsPart) all += part + " " + digest + "\n";
  return sha256_hex(std::string_view(all));
}

}  // namespace acid
