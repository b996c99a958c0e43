#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/select.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

std::int64_t run_number(const Connection& connection, const std::string& run_id,
                        const std::string& folder) {
  Statement find(connection, "SELECT number FROM runs WHERE id = ?");
  if (!find.bind(run_id).step()) throw StoreError(no_such_run(folder, run_id));
  return find.integer(0);
}

void refuse_if_held(const Connection& connection, std::int64_t run, const std::string& run_id) {
  for (const OpenAttempt& attempt : open_attempts(connection, run))
    if (attempt.goes_on)
      throw StoreError(fmt::format("run {} is being executed by process {} on host {} since {}; {}",
                                   run_id, attempt.lease.pid, attempt.lease.host, attempt.started,
                                   how_to_end(attempt)));
}

/// A new attempt starts where the checkpoint was taken, if there is one.
std::int64_t insert_attempt(const Connection& connection, std::int64_t run, const Lease& lease,
                            const nlohmann::json& environment, const nlohmann::json& seeds,
                            const std::optional<Continuation>& continued, const Position& from) {
  std::optional<std::int64_t> checkpoint;
  std::string changed = "{}";
  if (continued) {
    checkpoint = continued->checkpoint;
    if (!continued->changed.is_null()) changed = json_text(continued->changed);
  }
  Statement(connection,
            "INSERT INTO attempts (run, number, host, boot_id, pid, process_start, started,"
            " heartbeat, environment, seeds, resumed_from, changed, gradients, normalised_time,"
            " seconds, bytes) SELECT ?1, 1 + coalesce(max(number), 0), ?2, ?3, ?4, ?5, ?6, ?6, ?7,"
            " ?8, ?9, ?10, ?11, ?12, ?13, ?14 FROM attempts WHERE run = ?1")
      .bind(run, lease.host, lease.boot_id, lease.pid, lease.process_start, utc_now(),
            json_text(environment), json_text(seeds), checkpoint, changed, from.gradients,
            from.normalised_time, from.seconds, from.bytes)
      .run();
  return connection.last_insert_id();
}

void insert_holdings(const Connection& connection, std::int64_t attempt,
                     const std::vector<std::vector<std::int64_t>>& holdings) {
  Statement insert(connection, "INSERT INTO holdings VALUES (?, ?, ?, ?)");
  for (std::size_t worker = 0; worker < holdings.size(); ++worker) {
    const std::vector<std::int64_t>& classes = holdings[worker];
    std::optional<std::string> list;
    if (classes.size() > 1) list = nlohmann::json(classes).dump();
    insert
        .bind(attempt, worker, std::accumulate(classes.begin(), classes.end(), std::int64_t{0}),
              list)
        .run();
  }
}

void insert_result(const Connection& connection, std::int64_t attempt,
                   const AttemptResult& result) {
  Statement(connection, "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(attempt, result.mean_digest, result.realised_rate, result.realised_chi1,
            result.realised_chi2, result.exchanges_drawn, result.exchanges_done,
            result.exchanges_waiting, json_text(result.staleness), result.samples_skipped,
            result.evaluations_skipped, result.checkpoints_skipped)
      .run();
  insert_spans(connection, attempt, result.worker_spans);
  Statement worker(connection, "INSERT INTO worker_results VALUES (?, ?, ?, ?, ?)");
  const std::size_t workers =
      std::max({result.worker_digests.size(), result.worker_gradients.size(),
                result.worker_idle_seconds.size()});
  const auto at = [](const auto& list, std::size_t i) {
    return i < list.size() ? std::optional(list[i]) : std::nullopt;
  };
  for (std::size_t i = 0; i < workers; ++i)
    worker
        .bind(attempt, i, at(result.worker_digests, i), at(result.worker_gradients, i),
              at(result.worker_idle_seconds, i))
        .run();
  Statement edge(connection, "INSERT INTO edges VALUES (?, ?, ?, ?, ?)");
  for (const auto& [i, j, nominal, count] : result.edges)
    edge.bind(attempt, i, j, nominal, count).run();
  Statement artifact(connection, "INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?, NULL)");
  for (std::size_t i = 0; i < result.artifacts.size(); ++i) {
    const AttemptResult::Artifact& one = result.artifacts[i];
    artifact.bind(attempt, i, one.role, one.path, one.sha256, one.bytes).run();
  }
}

/// The state of a run that no living process holds.
RunVersion version_now(const Connection& connection, std::int64_t run) {
  Statement attempts(connection,
                     "SELECT count(*), (SELECT outcome FROM attempts WHERE run = ?1"
                     " ORDER BY number DESC LIMIT 1) FROM attempts WHERE run = ?1");
  attempts.bind(run).step();
  RunVersion version;
  version.attempts = static_cast<std::size_t>(attempts.integer(0));
  if (version.attempts > 0)
    version.state =
        attempts.is_null(1) ? RunState::interrupted : stored_state(attempts, 1, "a run");
  version.newest_checkpoint = static_cast<int>(
      one_number(connection,
                 "SELECT max(c.number) FROM checkpoints c JOIN attempts a ON a.id = c.attempt"
                 " WHERE a.run = ? AND c.superseded = 0",
                 run));
  return version;
}

/// An attempt that was under way when the caller looked may have ended since. The caller does not
/// know what it left, so it must not supersede that.
void refuse_if_overtaken(const Connection& connection, std::int64_t run, const std::string& run_id,
                         const RunVersion& known) {
  if (version_now(connection, run) != known)
    throw Overtaken(
        fmt::format("run {} has just been executed by another process; try again to "
                    "see what is left to do",
                    run_id));
}

// For attempt ?1. An attempt that ended of its own accord has a result.
constexpr const char* kSayThatItGoesOn = R"sql(
  INSERT INTO log (attempt, time, severity, text)
  SELECT id, ?2, 'warning', 'it was taken for gone and goes on'
      || iif(message = '', '', ', after another process wrote: ' || message)
    FROM attempts WHERE id = ?1 AND (outcome IS NOT NULL OR seal IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM results WHERE attempt = ?1))sql";

[[noreturn]] void fail_removed(const Connection& connection, const std::string& run_id) {
  throw StoreError(
      fmt::format("run {} was removed from the store {} while this process executed it, so "
                  "nothing more is recorded; run its recipe again if it is still wanted",
                  run_id, connection.place()));
}

}  // namespace

std::int64_t run_of(const Connection& connection, std::int64_t attempt, const std::string& run_id) {
  Statement find(
      connection,
      "SELECT a.run, a.number, (SELECT max(number) FROM attempts WHERE run = a.run), r.id"
      " FROM attempts a JOIN runs r ON r.number = a.run WHERE a.id = ?");
  if (!find.bind(attempt).step() || find.text(3) != run_id) fail_removed(connection, run_id);
  if (find.integer(1) != find.integer(2))
    throw StoreError(
        fmt::format("another process has taken run {} over (attempt {}), so attempt {} ends here; "
                    "'acid show {}' tells which process it is",
                    run_id, find.integer(2), find.integer(1), run_id));
  return find.integer(0);
}

void refuse_if_removed(const Connection& connection, std::int64_t attempt,
                       const std::string& run_id) {
  if (texts(connection,
            "SELECT r.id FROM attempts a JOIN runs r ON r.number = a.run WHERE a.id = ?",
            attempt) != std::vector{run_id})
    fail_removed(connection, run_id);
}

void go_on(const Connection& connection, std::int64_t attempt) {
  Statement(connection, kSayThatItGoesOn).bind(attempt, utc_now()).run();
  if (connection.changes() == 0) return;
  Statement(connection,
            "UPDATE attempts SET outcome = NULL, ended = NULL, message = '', seal = NULL"
            " WHERE id = ?")
      .bind(attempt)
      .run();
  Statement(connection, "DELETE FROM verifications WHERE attempt = ?").bind(attempt).run();
}

void end_vanished_attempt(const Connection& connection, std::int64_t run) {
  Statement(connection,
            "UPDATE attempts SET outcome = 'interrupted', ended = heartbeat,"
            " message = 'process ' || pid || ' on host ' || host || ' was gone'"
            " WHERE run = ? AND outcome IS NULL")
      .bind(run)
      .run();
}

std::int64_t Store::begin_attempt(
    const std::string& run_id, const Lease& lease, const nlohmann::json& environment,
    const nlohmann::json& seeds,
    const std::vector<std::pair<std::string, std::string>>& file_digests,
    const std::optional<Continuation>& continued, std::optional<RunVersion> known,
    const std::vector<std::vector<std::int64_t>>& holdings) {
  const Connection& connection = impl_->connection();
  // What follows is synced with the next checkpoint or with the end; a power cut before that takes
  // nothing but the attempt.
  std::optional<CommitsAs> batched;
  if (impl_->writing) batched.emplace(*impl_->writing, WritingConnection::Durability::batched);
  Transaction transaction(connection, Transaction::Kind::write);
  const std::int64_t run = run_number(connection, run_id, folder());
  refuse_if_held(connection, run, run_id);
  if (known) refuse_if_overtaken(connection, run, run_id, *known);
  end_vanished_attempt(connection, run);
  Position from;
  if (continued)
    from = supersede_after(connection, run, run_id, continued->checkpoint);
  else
    supersede_everything(connection, run);
  const std::int64_t attempt =
      insert_attempt(connection, run, lease, environment, seeds, continued, from);
  if (continued) carry_last_values(connection, run, attempt);
  Statement digest(connection, "INSERT INTO file_digests VALUES (?, ?, ?, ?)");
  for (std::size_t i = 0; i < file_digests.size(); ++i)
    digest.bind(attempt, i, file_digests[i].first, file_digests[i].second).run();
  insert_holdings(connection, attempt, holdings);
  transaction.commit();
  impl_->begun[attempt] = run_id;
  return attempt;
}

void Store::end_attempt(std::int64_t attempt, const AttemptResult& result) {
  ACID_ASSERT(result.state != RunState::planned && result.state != RunState::running,
              "an attempt cannot end as {}", state_name(result.state));
  const Connection& connection = impl_->connection();
  const auto begun = impl_->begun.find(attempt);
  ACID_ASSERT(begun != impl_->begun.end(), "attempt {} was not begun here", attempt);
  sqlite::once_unlocked([&] {
    Transaction transaction(connection, Transaction::Kind::write);
    const std::int64_t run = run_of(connection, attempt, begun->second);
    const Position& position = result.position;
    // The attempt knows its own end best, so what other processes wrote about it is replaced.
    go_on(connection, attempt);
    // A failed attempt may not know how far it was; then the last recorded progress stands. A
    // diverged one ended at its worst gradient, however far other workers were by then.
    Statement(connection,
              "UPDATE attempts SET outcome = ?1, message = ?2, ended = ?3, heartbeat = ?3,"
              " gradients = max(iif(?9, 0, gradients), ?4),"
              " normalised_time = max(iif(?9, 0, normalised_time), ?5),"
              " seconds = max(iif(?9, 0, seconds), ?6), bytes = max(iif(?9, 0, bytes), ?7)"
              " WHERE id = ?8")
        .bind(state_name(result.state), result.message, utc_now(), position.gradients,
              position.normalised_time, position.seconds, position.bytes, attempt,
              result.state == RunState::diverged)
        .run();
    insert_result(connection, attempt, result);
    seal_left(connection, run);
    transaction.commit();
  });
}

void Store::add_verification(const std::string& run_id, const Verification& verification) {
  const Connection& connection = impl_->connection();
  sqlite::once_unlocked([&] {
    Transaction transaction(connection, Transaction::Kind::write);
    const std::int64_t run = run_number(connection, run_id, folder());
    const ChangeOfLeft change(connection, run, kVerificationsPart);
    Statement(connection,
              "INSERT INTO verifications (attempt, time, host, equal, message, checkpoint,"
              " environment, proof) SELECT id, ?, ?, ?, ?, ?, ?, ? FROM attempts WHERE run = ?"
              " ORDER BY number DESC LIMIT 1")
        .bind(utc_now(), Lease::of_this_process().host, verification.equal, verification.message,
              verification.from, json_text(verification.environment),
              verification.proof.empty() ? proof_of(left_of(connection, run)) : verification.proof,
              run)
        .run();
    ACID_ASSERT(connection.changes() == 1, "run {} was never executed", run_id);
    change.made();
    transaction.commit();
  });
}

void Store::mark_interrupted(const std::string& run_id, std::int64_t pid,
                             const std::string& message, bool knows_better) {
  const Connection& connection = impl_->connection();
  const Lease here = Lease::of_this_process();
  Transaction transaction(connection, Transaction::Kind::write);
  const std::int64_t run = run_number(connection, run_id, folder());
  const ChangeOfLeft change(connection, run, kExecutionPart);
  Statement(connection,
            "UPDATE attempts AS a SET outcome = 'interrupted', message = ?,"
            " ended = coalesce(ended, ?)"
            " WHERE run = ? AND pid = ? AND host = ?"
            " AND boot_id = ? AND (outcome IS NULL OR (? AND outcome = 'interrupted' AND"
            " number = (SELECT max(number) FROM attempts WHERE run = a.run)))")
      .bind(message, utc_now(), run, pid, here.host, here.boot_id, knows_better)
      .run();
  if (connection.changes() > 0) change.made();
  transaction.commit();
}

}  // namespace acid
