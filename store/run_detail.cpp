#include <climits>

#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

Severity severity_from_name(const std::string& name) {
  if (name == "error") return Severity::error;
  return name == "warning" ? Severity::warning : Severity::info;
}

std::vector<std::pair<std::string, std::string>> files_of(const Connection& connection,
                                                          std::int64_t attempt) {
  Statement select(connection,
                   "SELECT path, sha256 FROM file_digests WHERE attempt = ? ORDER BY position");
  select.bind(attempt);
  std::vector<std::pair<std::string, std::string>> files;
  while (select.step()) files.emplace_back(select.text(0), select.text(1));
  return files;
}

std::vector<AttemptRow> attempts_of(const Connection& connection, const RunSummary& run) {
  Statement select(connection,
                   "SELECT a.number, a.host, a.pid, a.started, a.ended, a.outcome, a.message,"
                   " a.heartbeat, a.environment,"
                   " (julianday(coalesce(a.ended, a.heartbeat)) - julianday(a.started)) * 86400,"
                   " a.id, c.number, a.changed, a.seeds"
                   " FROM attempts a JOIN runs r ON r.number = a.run"
                   " LEFT JOIN checkpoints c ON c.id = a.resumed_from WHERE r.id = ?"
                   " ORDER BY a.number");
  select.bind(run.id);
  std::vector<AttemptRow> rows;
  while (select.step()) {
    AttemptRow row;
    row.number = static_cast<int>(select.integer(0, 1, INT_MAX, "an attempt of run " + run.id));
    const std::string whose = fmt::format("attempt {} of run {}", row.number, run.id);
    row.host = select.text(1);
    row.pid = select.integer(2);
    row.started = select.text(3);
    row.finished = select.text(4);
    row.outcome = select.text(5);
    row.message = select.text(6);
    row.environment = stored_object(select, 8, whose);
    row.wall_seconds = select.real(9);
    row.file_digests = files_of(connection, select.integer(10));
    row.resumed_from = static_cast<int>(select.integer(11, 0, INT_MAX, whose));
    row.changed = stored_object(select, 12, whose);
    row.seeds = stored_object(select, 13, "run " + run.id);
    // Only the newest attempt can have no outcome; then the summary knows whether it is dead.
    if (row.outcome.empty() && run.state == RunState::interrupted) {
      row.outcome = state_name(run.state);
      row.message = run.message;
      row.finished = select.text(7);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void read_worker_results(const Connection& connection, std::int64_t attempt,
                         const std::string& whose, AttemptResult& result) {
  Statement workers(connection,
                    "SELECT digest, gradients, idle_seconds FROM worker_results"
                    " WHERE attempt = ? ORDER BY worker");
  workers.bind(attempt);
  while (workers.step()) {
    if (!workers.is_null(0)) result.worker_digests.push_back(workers.text(0));
    if (!workers.is_null(1))
      result.worker_gradients.push_back(workers.integer(1, 0, kMostGradients, whose));
    if (!workers.is_null(2)) result.worker_idle_seconds.push_back(workers.real(2));
  }
}

void read_edges_and_artifacts(const Connection& connection, std::int64_t attempt,
                              const std::string& whose, AttemptResult& result) {
  Statement edges(
      connection,
      "SELECT i, j, nominal_rate, exchanges FROM edges WHERE attempt = ? ORDER BY i, j");
  edges.bind(attempt);
  while (edges.step())
    result.edges.push_back({static_cast<int>(edges.integer(0, 0, kMostWorkers, whose)),
                            static_cast<int>(edges.integer(1, 0, kMostWorkers, whose)),
                            edges.real(2), edges.integer(3, 0, kMostGradients, whose)});
  Statement artifacts(connection,
                      "SELECT role, path, sha256, bytes, coalesce(removed, '') FROM artifacts"
                      " WHERE attempt = ? ORDER BY position");
  artifacts.bind(attempt);
  while (artifacts.step())
    result.artifacts.push_back({artifacts.text(0), artifacts.text(1), artifacts.text(2),
                                artifacts.integer(3, 0, kMostBytes, whose), artifacts.text(4)});
}

std::vector<std::vector<std::int64_t>> holdings_of(const Connection& connection,
                                                   std::int64_t attempt, const std::string& whose) {
  Statement select(
      connection,
      "SELECT worker, examples, classes FROM holdings WHERE attempt = ? ORDER BY worker");
  select.bind(attempt);
  std::vector<std::vector<std::int64_t>> holdings;
  while (select.step()) {
    const std::int64_t examples = select.integer(1, 0, kMostGradients, whose);
    std::vector<std::int64_t> counts =
        select.is_null(2) ? std::vector{examples} : stored_counts(select, 2, whose);
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    if (select.integer(0) != std::ssize(holdings)) select.refuse(0, whose, "not the next worker");
    if (counts.empty() || (!holdings.empty() && counts.size() != holdings[0].size()))
      select.refuse(2, whose, "of another number of classes");
    if (sum != examples) select.refuse(1, whose, "not the sum over the classes");
    holdings.push_back(std::move(counts));
  }
  return holdings;
}

/// The result of the newest attempt alone: the result of an earlier one does not count any more.
std::optional<AttemptResult> newest_result(const Connection& connection,
                                           const std::string& run_id) {
  Statement select(connection,
                   "SELECT a.id, a.outcome, a.message, a.gradients, a.normalised_time, a.seconds,"
                   " a.bytes, x.mean_digest, x.realised_rate, x.realised_chi1, x.realised_chi2,"
                   " x.exchanges_drawn, x.exchanges_done, x.exchanges_waiting, x.staleness,"
                   " x.samples_skipped, x.evaluations_skipped, x.checkpoints_skipped"
                   " FROM results x JOIN attempts a ON a.id = x.attempt"
                   " JOIN runs r ON r.number = a.run WHERE r.id = ?"
                   " AND a.number = (SELECT max(number) FROM attempts WHERE run = r.number)");
  if (!select.bind(run_id).step()) return std::nullopt;
  AttemptResult result;
  const std::string whose = "run " + run_id;
  if (select.is_null(1)) select.refuse(1, whose, "none, beside a result");
  result.state = stored_state(select, 1, whose);
  result.message = select.text(2);
  result.position = stored_position(select, 3, whose);
  result.mean_digest = select.text(7);
  result.realised_rate = select.real(8);
  result.realised_chi1 = select.optional_real(9);
  result.realised_chi2 = select.optional_real(10);
  result.exchanges_drawn = select.integer(11, 0, kMostGradients, whose);
  result.exchanges_done = select.integer(12, 0, kMostGradients, whose);
  result.exchanges_waiting = select.integer(13, 0, kMostGradients, whose);
  result.staleness = stored_counts(select, 14, whose);
  const auto skipped = [&](int column) {
    return select.is_null(column) ? std::nullopt
                                  : std::optional(select.integer(column, 0, kMostGradients, whose));
  };
  result.samples_skipped = skipped(15);
  result.evaluations_skipped = skipped(16);
  result.checkpoints_skipped = skipped(17);
  const std::int64_t attempt = select.integer(0);
  read_worker_results(connection, attempt, whose, result);
  read_edges_and_artifacts(connection, attempt, whose, result);
  return result;
}

std::vector<LogLine> log_of(const Connection& connection, const std::string& run_id) {
  Statement select(connection,
                   "SELECT time, severity, text FROM log WHERE attempt IN"
                   " (SELECT a.id FROM attempts a JOIN runs r ON r.number = a.run"
                   "  WHERE r.id = ?) ORDER BY id");
  select.bind(run_id);
  std::vector<LogLine> lines;
  while (select.step())
    lines.push_back({select.text(0), severity_from_name(select.text(1)), select.text(2)});
  return lines;
}

/// Why the verification does not count any more: see VerificationRow::altered.
std::string altered_since(const std::string& proof, const std::string& now,
                          const std::vector<std::string>& broken) {
  if (proof.empty()) return "an earlier acid verified it, which kept no digest of what it verified";
  if (!broken.empty()) return broken.front();
  return proof == now ? "" : kNotWhatWasVerified;
}

std::vector<VerificationRow> verifications_of(const Store& store, std::int64_t attempt,
                                              std::int64_t run) {
  const Connection& connection = store.impl().connection();
  Statement select(connection,
                   "SELECT v.time, v.host, v.equal, v.message, c.number, v.environment, v.proof"
                   " FROM verifications v LEFT JOIN checkpoints c ON c.id = v.checkpoint"
                   " WHERE v.attempt = ? ORDER BY v.id");
  select.bind(attempt);
  std::vector<VerificationRow> rows;
  std::string now;
  std::vector<std::string> broken;
  while (select.step()) {
    VerificationRow row;
    row.time = select.text(0);
    row.host = select.text(1);
    row.equal = select.integer(2) != 0;
    row.message = select.text(3);
    if (!select.is_null(4)) row.from = static_cast<int>(select.integer(4));
    row.environment = stored_object(select, 5, "a verification");
    if (rows.empty()) {
      const Left left = left_of(connection, run);
      now = proof_of(left);
      broken = broken_seals(store, run, left);
    }
    row.altered = altered_since(select.text(6), now, broken);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::int64_t number_of(const Store& store, const std::string& run_id) {
  Statement find(store.impl().connection(), "SELECT number FROM runs WHERE id = ?");
  if (!find.bind(run_id).step()) throw UsageError(no_such_run(store.folder(), run_id));
  return find.integer(0);
}

}  // namespace

std::string verified_state(const Store& store, const std::string& run_id) {
  const Transaction one_view(store.impl().connection(), Transaction::Kind::read);
  return proof_of(left_of(store.impl().connection(), number_of(store, run_id)));
}

std::vector<std::string> altered_words(const Store& store, const std::string& run_id) {
  const Transaction one_view(store.impl().connection(), Transaction::Kind::read);
  const std::int64_t run = number_of(store, run_id);
  return broken_seals(store, run, left_of(store.impl().connection(), run));
}

std::vector<std::string> altered_record(const Store& store, const std::string& run_id) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  const std::int64_t run = number_of(store, run_id);
  return broken_run(connection, run, left_of(connection, run));
}

RunVersion version_of(const RunDetail& run) {
  return {run.attempts.size(), run.summary.state,
          run.checkpoints.empty() ? 0 : run.checkpoints.back().number};
}

RunDetail run_detail(const Store& store, const std::string& run_id) {
  const Connection& connection = store.impl().connection();
  RunDetail detail;
  detail.summary = run_summaries(store, {run_id}).front();
  const Transaction one_view(connection, Transaction::Kind::read);
  Statement run(connection, "SELECT settings, plan FROM runs WHERE id = ?");
  run.bind(run_id).step();
  const std::string whose = "run " + run_id;
  detail.settings = stored_object(run, 0, whose);
  detail.plan = stored_object(run, 1, whose);
  detail.attempts = attempts_of(connection, detail.summary);
  detail.result = newest_result(connection, run_id);
  detail.log = log_of(connection, run_id);
  detail.notes = notes_of(connection, "run", run_id);
  detail.checkpoints = read_checkpoints(connection, run_id);

  Statement newest(connection,
                   "SELECT a.id, a.seeds FROM attempts a JOIN runs r ON r.number = a.run"
                   " WHERE r.id = ? ORDER BY a.number DESC LIMIT 1");
  if (newest.bind(run_id).step()) {
    detail.seeds = stored_object(newest, 1, whose);
    detail.file_digests = detail.attempts.back().file_digests;
    detail.holdings = holdings_of(connection, newest.integer(0), whose);
    detail.verifications = verifications_of(store, newest.integer(0), number_of(store, run_id));
  }
  return detail;
}

const VerificationRow* decisive_verification(const RunDetail& run) {
  const VerificationRow* decisive = nullptr;
  for (const VerificationRow& row : run.verifications)
    if (decisive == nullptr || !row.from || !row.equal || (decisive->from && decisive->equal))
      decisive = &row;
  return decisive;
}

}  // namespace acid
