#include <algorithm>
#include <utility>

#include "store/impl.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;
using sqlite::Transaction;

std::int64_t run_number(const Connection& connection, const std::string& run_id,
                        const std::string& folder) {
  Statement find(connection, "SELECT number FROM runs WHERE id = ?");
  if (!find.bind(run_id).step())
    throw StoreError(
        fmt::format("the store {} has no run {}; 'acid list' shows those it has", folder, run_id));
  return find.integer(0);
}

void refuse_if_held(const Connection& connection, std::int64_t run, const std::string& run_id) {
  Statement open(connection,
                 "SELECT host, boot_id, pid, process_start, started,"
                 " (julianday('now') - julianday(heartbeat)) * 86400"
                 " FROM attempts WHERE run = ? AND outcome IS NULL");
  open.bind(run);
  while (open.step()) {
    const Lease lease{open.text(0), open.text(1), open.integer(2), open.integer(3)};
    if (goes_on(lease, open.real(5)))
      throw StoreError(
          fmt::format("run {} is being executed by process {} on host {} since {}; wait for it, or "
                      "stop it with "
                      "'kill {}' there and try again",
                      run_id, lease.pid, lease.host, open.text(4), lease.pid));
  }
}

/// Ends attempts whose process vanished, at their last sign of life, and hides what all attempts
/// of the run have recorded so far.
void supersede_attempts(const Connection& connection, std::int64_t run) {
  Statement(connection,
            "UPDATE attempts SET outcome = 'interrupted', ended = heartbeat,"
            " message = 'process ' || pid || ' on host ' || host || ' was gone'"
            " WHERE run = ? AND outcome IS NULL")
      .bind(run)
      .run();
  Statement(connection, "UPDATE attempts SET valid_until_tick = 0 WHERE run = ?").bind(run).run();
}

void insert_result(const Connection& connection, std::int64_t attempt,
                   const AttemptResult& result) {
  Statement(connection, "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(attempt, result.mean_digest, result.realised_rate, result.realised_chi1,
            result.realised_chi2, result.exchanges_drawn, result.exchanges_done,
            result.exchanges_waiting)
      .run();
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
  Statement artifact(connection, "INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < result.artifacts.size(); ++i) {
    const AttemptResult::Artifact& one = result.artifacts[i];
    artifact.bind(attempt, i, one.role, one.path, one.sha256, one.bytes).run();
  }
}

}  // namespace

std::int64_t Store::begin_attempt(
    const std::string& run_id, const Lease& lease, const nlohmann::json& environment,
    const nlohmann::json& seeds,
    const std::vector<std::pair<std::string, std::string>>& file_digests) {
  const Connection& connection = impl_->connection();
  Transaction transaction(connection, Transaction::Kind::write);
  const std::int64_t run = run_number(connection, run_id, folder());
  refuse_if_held(connection, run, run_id);
  supersede_attempts(connection, run);
  const std::string now = utc_now();
  Statement(connection,
            "INSERT INTO attempts (run, number, host, boot_id, pid, process_start, started,"
            " heartbeat, environment, seeds) SELECT ?1, 1 + coalesce(max(number), 0),"
            " ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8 FROM attempts WHERE run = ?1")
      .bind(run, lease.host, lease.boot_id, lease.pid, lease.process_start, now,
            json_text(environment), json_text(seeds))
      .run();
  const std::int64_t attempt = connection.last_insert_id();
  Statement digest(connection, "INSERT INTO file_digests VALUES (?, ?, ?, ?)");
  for (std::size_t i = 0; i < file_digests.size(); ++i)
    digest.bind(attempt, i, file_digests[i].first, file_digests[i].second).run();
  transaction.commit();
  return attempt;
}

void Store::end_attempt(std::int64_t attempt, const AttemptResult& result) {
  ACID_ASSERT(result.state != RunState::planned && result.state != RunState::running,
              "an attempt cannot end as {}", state_name(result.state));
  const Connection& connection = impl_->connection();
  Transaction transaction(connection, Transaction::Kind::write);
  const Position& position = result.position;
  // Also when the supervisor gave it up for dead: what the attempt says of itself counts more. One
  // that failed may not know how far it was; then the last progress stands.
  Statement(connection,
            "UPDATE attempts SET outcome = ?1, message = ?2, ended = ?3, heartbeat = ?3,"
            " gradients = max(gradients, ?4), normalised_time = max(normalised_time, ?5),"
            " seconds = max(seconds, ?6), bytes = max(bytes, ?7) WHERE id = ?8")
      .bind(state_name(result.state), result.message, utc_now(), position.gradients,
            position.normalised_time, position.seconds, position.bytes, attempt)
      .run();
  ACID_ASSERT(connection.changes() == 1, "there is no attempt {}", attempt);
  insert_result(connection, attempt, result);
  transaction.commit();
}

void Store::mark_interrupted(const std::string& run_id, const std::string& message) {
  const Connection& connection = impl_->connection();
  Transaction transaction(connection, Transaction::Kind::write);
  Statement(connection,
            "UPDATE attempts SET outcome = 'interrupted', message = ?, ended = ?"
            " WHERE run = (SELECT number FROM runs WHERE id = ?) AND outcome IS NULL")
      .bind(message, utc_now(), run_id)
      .run();
  transaction.commit();
}

}  // namespace acid
