#include <algorithm>
#include <climits>
#include <limits>
#include <set>

#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

// The part of a series that one attempt recorded and that counts.
struct Part {
  std::int64_t series = 0;
  std::int64_t ticks = 0;  // the last that counts
};

std::vector<Part> parts_of(const Connection& connection, const std::string& run_id,
                           const std::string& metric) {
  Statement select(connection,
                   "SELECT s.id, min(s.last_tick, coalesce(a.valid_until_tick, ?3)) AS counting"
                   " FROM runs r JOIN attempts a ON a.run = r.number"
                   " JOIN series s ON s.attempt = a.id AND s.worker = -1 AND s.metric = ?2"
                   " WHERE r.id = ?1 AND s.count > 0 AND counting > 0 ORDER BY a.number");
  select.bind(run_id, metric, std::numeric_limits<std::int64_t>::max());
  std::vector<Part> parts;
  while (select.step())
    parts.push_back(
        {select.integer(0), select.integer(1, 1, kMostRows, "a series of run " + run_id)});
  return parts;
}

// An attempt that ended of its own accord has a result.
constexpr const char* kSelectAttempts = R"sql(
  SELECT r.id, a.number, a.host, a.pid, a.started, coalesce(a.ended, a.heartbeat), a.outcome,
         EXISTS (SELECT 1 FROM results WHERE attempt = a.id),
         (julianday(coalesce(a.ended, a.heartbeat)) - julianday(a.started)) * 86400,
         (julianday('now') - julianday(coalesce(a.ended, a.heartbeat))) * 86400,
         coalesce(c.gradients, 0), coalesce(c.normalised_time, 0), coalesce(c.seconds, 0),
         coalesce(c.bytes, 0), a.gradients, a.normalised_time, a.seconds, a.bytes,
         iif(json_valid(a.environment), json_extract(a.environment, '$.batch'), NULL)
  FROM runs r JOIN attempts a ON a.run = r.number LEFT JOIN checkpoints c ON c.id = a.resumed_from
  WHERE r.id IN (SELECT value FROM json_each(?1))
  ORDER BY a.started, a.id)sql";

}  // namespace

std::optional<AttemptPace> newest_pace(const Store& store, const std::string& run_id) {
  Statement select(store.impl().connection(),
                   "SELECT a.number, a.host, a.pid, coalesce(c.gradients, 0),"
                   " (julianday(coalesce(a.ended, a.heartbeat)) - julianday(a.started)) * 86400"
                   " FROM runs r JOIN attempts a ON a.run = r.number"
                   " LEFT JOIN checkpoints c ON c.id = a.resumed_from"
                   " WHERE r.id = ? ORDER BY a.number DESC LIMIT 1");
  select.bind(run_id);
  if (!select.step()) return std::nullopt;
  const std::string whose = "an attempt of run " + run_id;
  return AttemptPace{static_cast<int>(select.integer(0, 1, INT_MAX, whose)), select.text(1),
                     select.integer(2), select.integer(3, 0, kMostGradients, whose),
                     select.real(4)};
}

std::vector<AttemptSummary> list_attempts(const Store& store,
                                          const std::vector<std::string>& run_ids) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  const auto dead = dead_runs(connection);
  Statement select(connection, kSelectAttempts);
  select.bind(json_text(run_ids));
  std::vector<AttemptSummary> attempts;
  while (select.step()) {
    AttemptSummary attempt;
    attempt.run = stored_run_id(select, 0);
    const std::string whose = "an attempt of run " + attempt.run;
    attempt.number = static_cast<int>(select.integer(1, 1, INT_MAX, whose));
    attempt.host = select.text(2);
    attempt.pid = select.integer(3);
    attempt.started = select.text(4);
    attempt.last_sign = select.text(5);
    if (!select.is_null(6))
      attempt.state = stored_state(select, 6, whose);
    else if (dead.contains(attempt.run))
      attempt.state = RunState::interrupted;
    attempt.is_lost = attempt.state == RunState::interrupted && select.integer(7) == 0;
    attempt.seconds = select.real(8);
    attempt.silent_seconds = std::max(0.0, select.real(9));  // clocks of hosts differ
    attempt.from = stored_position(select, 10, whose);
    attempt.to = stored_position(select, 14, whose);
    attempt.batch = nlohmann::json::parse(select.text(18), nullptr, false);
    if (!attempt.batch.is_object()) attempt.batch = nullptr;
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

std::vector<double> series_outline(const Store& store, const std::string& run_id,
                                   const std::string& metric, int most) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  const std::vector<Part> parts = parts_of(connection, run_id, metric);
  std::int64_t ticks = 0;
  for (const Part& part : parts) ticks += part.ticks;

  // The values are looked up one by one, since reading a long series takes too long.
  Statement newest_until(connection,
                         "SELECT tick, value FROM points WHERE series = ? AND tick <= ?"
                         " ORDER BY tick DESC LIMIT 1");
  std::vector<double> values;
  std::pair<std::int64_t, std::int64_t> seen{0, 0};  // series, tick
  for (int k = 1; k <= most; ++k) {
    std::int64_t tick = std::max<std::int64_t>(1, ticks * k / most);
    auto part = parts.begin();
    while (part != parts.end() && tick > part->ticks) tick -= (part++)->ticks;
    if (part == parts.end()) break;
    newest_until.bind(part->series, tick);
    if (newest_until.step() && seen != std::pair(part->series, newest_until.integer(0))) {
      seen = {part->series, newest_until.integer(0)};
      values.push_back(newest_until.real(1));
    }
    newest_until.reset();
  }
  return values;
}

std::string store_moment(const Store& store) {
  const Connection& connection = store.impl().connection();
  std::string moment = std::to_string(connection.pragma("data_version"));
  const auto dead = dead_runs(connection);
  for (const std::string& run : std::set<std::string>(dead.begin(), dead.end()))
    moment += " " + run;
  return moment;
}

}  // namespace acid
