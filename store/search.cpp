// Searches in a run's series that do not read the whole series.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// In the order of PositionAxis.
constexpr std::array<std::string_view, 4> kColumns{"gradients", "normalised_time", "seconds",
                                                   "bytes"};
static_assert(kColumns.size() == static_cast<std::size_t>(PositionAxis::bytes) + 1);

/// Finds places among the ticks of an attempt. Ticks count from 1, and no coordinate decreases
/// along them.
class TickSearch {
 public:
  TickSearch(const Connection& connection, PositionAxis axis)
      : newest_(connection, "SELECT max(tick) FROM ticks WHERE attempt = ? AND tick <= ?"),
        place_(connection, fmt::format("SELECT {} FROM ticks WHERE attempt = ? AND tick = ?",
                                       kColumns.at(static_cast<std::size_t>(axis)))) {}

  /// How many of the attempt's ticks that count lie before the value or, if `at` is true, at it.
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
  return stored_position(select, 0, "a sample");
}

/// At most so many samples on each side of a place are returned.
constexpr int kBeside = 2;

std::vector<std::pair<std::int64_t, std::string>> series_of(
    const Connection& connection, const ValidAttempt& attempt,
    std::span<const std::string_view> metrics) {
  std::vector<std::pair<std::int64_t, std::string>> series;
  Statement select(connection,
                   "SELECT id, metric FROM series WHERE attempt = ? AND worker = -1 AND count > 0");
  select.bind(attempt.id);
  while (select.step())
    if (std::string metric = select.text(1);
        metrics.empty() || std::ranges::find(metrics, metric) != metrics.end())
      series.emplace_back(select.integer(0), std::move(metric));
  return series;
}

}  // namespace

std::optional<double> mean_between(const Store& store, const std::string& run_id,
                                   const std::string& metric, PositionAxis axis, double from,
                                   double to) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  TickSearch ticks(connection, axis);
  Statement values(connection,
                   "SELECT value FROM points WHERE series = ? AND tick BETWEEN ? AND ?"
                   " ORDER BY tick");
  // One sum over all attempts, so that an interruption does not change how it is rounded.
  double sum = 0;
  std::int64_t count = 0;
  for (const ValidAttempt& attempt : valid_attempts(connection, run_id)) {
    const auto series = series_id(connection, attempt, metric);
    if (!series) continue;
    values.bind(*series, ticks.count_until(attempt, from, false) + 1,
                ticks.count_until(attempt, to, true));
    for (; values.step(); ++count) sum += values.is_null(0) ? kNaN : values.real(0);
  }
  if (count == 0) return std::nullopt;
  return std::isfinite(sum) ? sum / static_cast<double>(count) : kNaN;
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

std::map<std::string, SamplesAround> samples_around(const Store& store, const std::string& run_id,
                                                    PositionAxis axis, double value,
                                                    std::span<const std::string_view> metrics) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  TickSearch ticks(connection, axis);
  Statement before(connection, fmt::format("SELECT tick, value FROM points WHERE series = ?"
                                           " AND tick <= ? ORDER BY tick DESC LIMIT {}",
                                           kBeside));
  Statement after(connection, fmt::format("SELECT tick, value FROM points WHERE series = ?"
                                          " AND tick > ? AND tick <= ? ORDER BY tick LIMIT {}",
                                          kBeside));
  std::map<std::string, SamplesAround> samples;
  for (const ValidAttempt& attempt : valid_attempts(connection, run_id)) {
    const std::int64_t until = ticks.count_until(attempt, value, true);
    const auto point = [&](const Statement& row) {
      return SeriesPoint{position_at(connection, attempt, row.integer(0)), row.real(1)};
    };
    for (const auto& [series, metric] : series_of(connection, attempt, metrics)) {
      SamplesAround& around = samples[metric];
      std::vector<SeriesPoint> newer;
      for (before.bind(series, until); before.step();) newer.push_back(point(before));
      // A later attempt's samples are nearer to the place than an earlier attempt's.
      around.until.insert(around.until.begin(), newer.begin(), newer.end());
      if (around.until.size() > kBeside) around.until.resize(kBeside);
      for (after.bind(series, until, attempt.valid_until_tick);
           around.beyond.size() < kBeside && after.step();)
        around.beyond.push_back(point(after));
    }
  }
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
    if (!select.bind(id).step()) throw UsageError(no_such_run(store.folder(), id));
    settings.push_back(stored_object(select, 0, "run " + id));
  }
  return settings;
}

}  // namespace acid
