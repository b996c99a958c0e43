// What one would search a run's series for, found without reading all of it.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "store/impl.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;
using sqlite::Transaction;

std::string_view column_of(PositionAxis axis) {
  switch (axis) {
    case PositionAxis::gradients:
      return "gradients";
    case PositionAxis::normalised_time:
      return "normalised_time";
    case PositionAxis::seconds:
      return "seconds";
    case PositionAxis::bytes:
      return "bytes";
  }
  ACID_ASSERT(false, "axis {}", static_cast<int>(axis));
}

/// Finds places among the ticks of an attempt, which count from 1 and along which no coordinate
/// decreases.
class TickSearch {
 public:
  TickSearch(const Connection& connection, PositionAxis axis)
      : newest_(connection, "SELECT max(tick) FROM ticks WHERE attempt = ? AND tick <= ?"),
        place_(connection, fmt::format("SELECT {} FROM ticks WHERE attempt = ? AND tick = ?",
                                       column_of(axis))) {}

  /// How many of the attempt's ticks that count lie before the value or, if `at` is, at it.
  std::int64_t count_until(const ValidAttempt& attempt, double value, bool at) {
    newest_.bind(attempt.id, attempt.valid_until_tick).step();
    std::int64_t before = 0, after = newest_.integer(0, 0, kMostRows, "the samples") + 1;
    while (after - before > 1) {
      const std::int64_t middle = before + (after - before) / 2;
      place_.bind(attempt.id, middle).step();
      const double place = place_.real(0);
      (place < value || (at && place == value) ? before : after) = middle;
    }
    return before;
  }

 private:
  Statement newest_, place_;
};

std::optional<std::int64_t> series_id(const Connection& connection, const ValidAttempt& attempt,
                                      const std::string& metric) {
  Statement select(connection,
                   "SELECT id FROM series WHERE attempt = ? AND worker = -1 AND metric = ?"
                   " AND count > 0");
  if (!select.bind(attempt.id, metric).step()) return std::nullopt;
  return select.integer(0);
}

Position position_at(const Connection& connection, const ValidAttempt& attempt, std::int64_t tick) {
  Statement select(connection,
                   "SELECT gradients, normalised_time, seconds, bytes FROM ticks"
                   " WHERE attempt = ? AND tick = ?");
  if (!select.bind(attempt.id, tick).step()) return {};
  return {select.integer(0, 0, kMostGradients, "a sample"), select.real(1), select.real(2),
          select.integer(3, 0, kMostBytes, "a sample")};
}

enum class Beside { before, after };

/// Passes on a sample of each of the run's series, attempt by attempt: the last one until the
/// value, or the first one after it.
template <class PassOn>
void find_samples(const Store& store, const std::string& run_id, PositionAxis axis, double value,
                  Beside side, const PassOn& pass_on) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  TickSearch ticks(connection, axis);
  Statement select(
      connection,
      fmt::format("SELECT s.metric, p.tick, p.value FROM series s JOIN points p ON p.series = s.id"
                  " AND p.tick = (SELECT {} FROM points WHERE series = s.id AND tick {} ?2)"
                  " WHERE s.attempt = ?1 AND s.worker = -1 AND p.tick <= ?3",
                  side == Beside::before ? "max(tick)" : "min(tick)",
                  side == Beside::before ? "<=" : ">"));
  for (const ValidAttempt& attempt : valid_attempts(connection, run_id)) {
    select.bind(attempt.id, ticks.count_until(attempt, value, true), attempt.valid_until_tick);
    while (select.step())
      pass_on(select.text(0),
              SeriesPoint{position_at(connection, attempt, select.integer(1)), select.real(2)});
  }
}

}  // namespace

std::optional<double> mean_between(const Store& store, const std::string& run_id,
                                   const std::string& metric, PositionAxis axis, double from,
                                   double to) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  TickSearch ticks(connection, axis);
  // Infinity stands for what is not a number, which avg() would leave out.
  Statement average(connection,
                    "SELECT avg(ifnull(value, 9e999)), count(*) FROM points"
                    " WHERE series = ? AND tick BETWEEN ? AND ?");
  double sum = 0;
  std::int64_t count = 0;
  for (const ValidAttempt& attempt : valid_attempts(connection, run_id)) {
    const auto series = series_id(connection, attempt, metric);
    if (!series) continue;
    average.bind(*series, ticks.count_until(attempt, from, false) + 1,
                 ticks.count_until(attempt, to, true));
    average.step();
    if (average.integer(1) == 0) continue;
    sum += average.real(0) * static_cast<double>(average.integer(1));
    count += average.integer(1);
  }
  if (count == 0) return std::nullopt;
  return std::isfinite(sum) ? sum / static_cast<double>(count)
                            : std::numeric_limits<double>::quiet_NaN();
}

std::optional<Reached> first_reaching(const Store& store, const std::string& run_id,
                                      const std::string& metric, double value, bool upwards) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  Statement first(connection,
                  fmt::format("SELECT tick, value FROM points WHERE series = ? AND tick <= ?"
                              " AND value {} ? ORDER BY tick LIMIT 1",
                              upwards ? ">=" : "<="));
  Statement last(connection,
                 "SELECT tick, value FROM points WHERE series = ? AND tick <= ? ORDER BY tick DESC"
                 " LIMIT 1");
  std::optional<SeriesPoint> before;
  for (const ValidAttempt& attempt : valid_attempts(connection, run_id)) {
    const auto series = series_id(connection, attempt, metric);
    if (!series) continue;
    const bool reached = first.bind(*series, attempt.valid_until_tick, value).step();
    const std::int64_t until = reached ? first.integer(0) - 1 : attempt.valid_until_tick;
    if (last.bind(*series, until).step())
      before = {position_at(connection, attempt, last.integer(0)), last.real(1)};
    if (reached)
      return Reached{{position_at(connection, attempt, first.integer(0)), first.real(1)}, before};
  }
  return std::nullopt;
}

std::map<std::string, SeriesPoint> samples_until(const Store& store, const std::string& run_id,
                                                 PositionAxis axis, double value) {
  std::map<std::string, SeriesPoint> samples;
  // What a later attempt has replaces what an earlier one had last.
  find_samples(store, run_id, axis, value, Beside::before,
               [&](std::string metric, const SeriesPoint& point) { samples[metric] = point; });
  return samples;
}

std::map<std::string, SeriesPoint> samples_beyond(const Store& store, const std::string& run_id,
                                                  PositionAxis axis, double value) {
  std::map<std::string, SeriesPoint> samples;
  find_samples(store, run_id, axis, value, Beside::after,
               [&](std::string metric, const SeriesPoint& point) {
                 samples.try_emplace(std::move(metric), point);
               });
  return samples;
}

std::map<std::string, double> best_values(const Store& store, const std::string& run_id) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  Statement select(connection,
                   "SELECT metric, better, best FROM series"
                   " WHERE attempt = ? AND worker = -1 AND count > 0 AND best IS NOT NULL");
  std::map<std::string, double> best;
  for (const ValidAttempt& attempt : valid_attempts(connection, run_id)) {
    select.bind(attempt.id);
    while (select.step()) {
      const double value = select.real(2);
      const auto [known, is_new] = best.emplace(select.text(0), value);
      if (!is_new && (select.integer(1) > 0 ? value > known->second : value < known->second))
        known->second = value;
    }
  }
  return best;
}

std::vector<nlohmann::json> run_settings(const Store& store,
                                         const std::vector<std::string>& run_ids) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  Statement select(connection, "SELECT settings FROM runs WHERE id = ?");
  std::vector<nlohmann::json> settings;
  for (const std::string& id : run_ids) {
    if (!select.bind(id).step())
      throw UsageError(fmt::format("the store {} has no run {}; 'acid list' shows those it has",
                                   store.folder(), id));
    settings.push_back(stored_object(select, 0, "run " + id));
  }
  return settings;
}

}  // namespace acid
