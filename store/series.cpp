#include <limits>
#include <map>

#include "store/impl.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;
using sqlite::Transaction;

struct Attempt {
  std::int64_t id = 0;
  std::int64_t valid_until_tick = 0;
};

/// Attempts of which something is not superseded, oldest first.
std::vector<Attempt> valid_attempts(const Connection& connection, const std::string& run_id) {
  Statement select(connection,
                   "SELECT a.id, coalesce(a.valid_until_tick, ?2) AS last_valid FROM attempts a"
                   " JOIN runs r ON r.number = a.run WHERE r.id = ?1 AND last_valid > 0"
                   " ORDER BY a.number");
  select.bind(run_id, std::numeric_limits<std::int64_t>::max());
  std::vector<Attempt> attempts;
  while (select.step()) attempts.push_back({select.integer(0), select.integer(1)});
  return attempts;
}

/// The position of tick t at [t − 1]: ticks count from 1 without gaps.
std::vector<Position> positions_of(const Connection& connection, const Attempt& attempt) {
  Statement select(connection,
                   "SELECT gradients, normalised_time, seconds, bytes FROM ticks"
                   " WHERE attempt = ? AND tick <= ? ORDER BY tick");
  select.bind(attempt.id, attempt.valid_until_tick);
  std::vector<Position> positions;
  while (select.step())
    positions.push_back({select.integer(0), select.real(1), select.real(2), select.integer(3)});
  return positions;
}

using SeriesByName = std::map<std::pair<std::string, int>, Series>;

void append_points(const Connection& connection, const Attempt& attempt, const std::string& metric,
                   bool whole_run_only, SeriesByName& all) {
  Statement select(connection,
                   "SELECT id, metric, worker, unit, count FROM series WHERE attempt = ?1"
                   " AND count > 0 AND (?2 = '' OR metric = ?2) AND (?3 = 0 OR worker = -1)");
  Statement points(connection,
                   "SELECT tick, value FROM points WHERE series = ? AND tick <= ? ORDER BY tick");
  select.bind(attempt.id, metric, whole_run_only);
  std::vector<Position> positions;
  while (select.step()) {
    if (positions.empty()) positions = positions_of(connection, attempt);
    const int worker = static_cast<int>(select.integer(2));
    Series& series = all[{select.text(1), worker}];
    series.metric = select.text(1);
    series.worker = worker;
    series.unit = select.text(3);
    series.points.reserve(series.points.size() + static_cast<std::size_t>(select.integer(4)));
    points.bind(select.integer(0), attempt.valid_until_tick);
    while (points.step()) {
      const auto tick = static_cast<std::size_t>(points.integer(0));
      ACID_ASSERT(tick >= 1 && tick <= positions.size(), "tick {} of {}", tick, positions.size());
      series.points.push_back({positions[tick - 1], points.real(1)});
    }
  }
}

}  // namespace

std::vector<Series> read_series(const Store& store, const std::string& run_id,
                                const std::string& metric, bool whole_run_only) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  SeriesByName all;
  for (const Attempt& attempt : valid_attempts(connection, run_id))
    append_points(connection, attempt, metric, whole_run_only, all);
  std::vector<Series> series;
  for (auto& [name, one] : all) series.push_back(std::move(one));
  return series;
}

}  // namespace acid
