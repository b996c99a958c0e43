#include "store/measurements.hpp"

#include <limits>

#include "store/impl.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

/// The values of one series of an attempt, in order of ticks.
class TickCursor {
 public:
  TickCursor(const Connection& connection, std::int64_t series, std::int64_t last_tick,
             std::size_t index)
      : points_(connection,
                "SELECT tick, value FROM points WHERE series = ? AND tick <= ? ORDER BY tick"),
        index_(index) {
    points_.bind(series, last_tick);
    advance();
  }
  /// Adds the series' value at the tick, if there is one. Ticks must be asked for in order.
  void take(std::int64_t tick, std::vector<std::pair<std::size_t, double>>& values) {
    if (tick_ != tick) return;
    values.emplace_back(index_, points_.real(1));
    advance();
  }

 private:
  void advance() {
    tick_ = points_.step() ? points_.integer(0) : std::numeric_limits<std::int64_t>::max();
  }

  Statement points_;
  std::size_t index_;
  std::int64_t tick_ = 0;
};

std::vector<TickCursor> cursors_of(const Connection& connection, const ValidAttempt& attempt,
                                   const std::vector<SeriesName>& wanted) {
  Statement find(connection,
                 "SELECT id FROM series WHERE attempt = ? AND worker = ? AND metric = ?"
                 " AND count > 0");
  std::vector<TickCursor> cursors;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (find.bind(attempt.id, wanted[i].worker, wanted[i].metric).step())
      cursors.emplace_back(connection, find.integer(0), attempt.valid_until_tick, i);
  return cursors;
}

}  // namespace

std::vector<SeriesName> series_names(const Store& store, const std::string& run_id) {
  Statement select(store.impl().connection(),
                   "SELECT DISTINCT metric, coalesce(worker, -1) AS of, unit FROM series_list"
                   " WHERE run = ? ORDER BY metric, of");
  select.bind(run_id);
  std::vector<SeriesName> names;
  while (select.step())
    names.push_back({select.text(0), select.text(2),
                     static_cast<int>(
                         select.integer(1, kWholeRun, kMostWorkers, "a series of run " + run_id))});
  return names;
}

void for_each_measurement(const Store& store, const std::string& run_id,
                          const std::vector<SeriesName>& wanted,
                          const std::function<void(const Measurement&)>& visit) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  Statement ticks(connection,
                  "SELECT tick, gradients, normalised_time, seconds, bytes FROM ticks"
                  " WHERE attempt = ? AND tick <= ? ORDER BY tick");
  const std::string whose = "a sample of run " + run_id;
  Measurement moment;
  for (const ValidAttempt& attempt : valid_attempts(connection, run_id)) {
    auto cursors = cursors_of(connection, attempt, wanted);
    ticks.bind(attempt.id, attempt.valid_until_tick);
    while (ticks.step()) {
      moment.position = stored_position(ticks, 1, whose);
      moment.values.clear();
      for (TickCursor& cursor : cursors) cursor.take(ticks.integer(0), moment.values);
      if (!moment.values.empty()) visit(moment);
    }
  }
}

}  // namespace acid
