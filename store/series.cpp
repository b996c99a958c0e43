#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

using sqlite::RowScan;

constexpr std::size_t kValuesPerPiece = 1024;  // this many fit a core's fastest memory

using Attempt = ValidAttempt;

// The scans read superseded rows, too, and C++ skips them: SQLite is faster with one column to
// compare, and superseded rows are few.

/// The position of tick t at [t − 1]: ticks count from 1 without gaps.
std::vector<Position> positions_of(const Connection& connection, const Attempt& attempt) {
  RowScan scan(connection, "tick, gradients, normalised_time, seconds, bytes",
               "FROM ticks WHERE attempt = ?");
  std::vector<Position> positions;
  scan.run(
      [&](const RowScan::Row& row) {
        if (row.integer(0) > attempt.valid_until_tick) return;
        if (row.integer(1) < 0 || row.integer(1) > kMostGradients || row.integer(4) < 0)
          throw StoreError(fmt::format(
              "the store {} is damaged: sample {} of attempt {} is at {} gradients and {} bytes; "
              "'acid doctor --store {}' looks for more damage",
              connection.place(), row.integer(0), attempt.id, row.integer(1), row.integer(4),
              connection.place()));
        positions.push_back({row.integer(1), row.real(2), row.real(3), row.integer(4)});
      },
      attempt.id);
  return positions;
}

/// A series of one attempt.
struct SeriesRow {
  std::int64_t id = 0;
  std::string metric;
  int worker = kWholeRun;
  std::string unit;
  std::size_t count = 0;
};

std::vector<SeriesRow> series_of(const Connection& connection, const Attempt& attempt) {
  Statement select(connection,
                   "SELECT id, metric, worker, unit, count FROM series"
                   " WHERE attempt = ? AND count > 0");
  select.bind(attempt.id);
  std::vector<SeriesRow> rows;
  while (select.step()) {
    const std::string whose = "series " + std::to_string(select.integer(0));
    rows.push_back({select.integer(0), select.text(1),
                    static_cast<int>(select.integer(2, kWholeRun, kMostWorkers, whose)),
                    select.text(3),
                    static_cast<std::size_t>(select.integer(4, 0, kMostRows, whose))});
  }
  return rows;
}

/// Scans the values of series, piece by piece.
class ValueScan {
 public:
  ValueScan(const Connection& connection, const Attempt& attempt, std::size_t ticks)
      : place_(connection.place()),
        attempt_(attempt),
        ticks_(ticks),
        scan_(connection, "tick, value", "FROM points WHERE series = ?") {}

  template <class Piece>
  void run(std::int64_t series, Piece&& piece) {
    std::size_t held = 0, before = 0;
    scan_.run(
        [&](const RowScan::Row& row) {
          if (row.integer(0) > attempt_.valid_until_tick) return;
          const auto tick = static_cast<std::size_t>(row.integer(0));
          if (tick <= before || tick > ticks_) throw misplaced(tick);
          before = tick;
          piece_[held] = {tick - 1, row.real(1)};
          if (++held < piece_.size()) return;
          piece(std::span<const TickValue>(piece_));
          held = 0;
        },
        series);
    if (held > 0) piece(std::span<const TickValue>(piece_).first(held));
  }

 private:
  StoreError misplaced(std::size_t tick) const {
    return StoreError(
        fmt::format("the store {} is damaged: it has a value for sample {}, where {} samples are "
                    "known; 'acid doctor --store {}' looks for more damage",
                    place_, tick, ticks_, place_));
  }

  const std::string place_;
  const Attempt attempt_;
  const std::size_t ticks_;
  RowScan scan_;
  std::array<TickValue, kValuesPerPiece> piece_;
};

using SeriesByName = std::map<std::pair<std::string, int>, Series>;

void append_values(const Connection& connection, const Attempt& attempt, const std::string& metric,
                   bool whole_run_only, SeriesByName& all) {
  std::vector<Position> positions;
  for (const SeriesRow& row : series_of(connection, attempt)) {
    if (!(metric.empty() || row.metric == metric) || (whole_run_only && row.worker != kWholeRun))
      continue;
    if (positions.empty()) positions = positions_of(connection, attempt);
    Series& series = all[{row.metric, row.worker}];
    series.metric = row.metric;
    series.worker = row.worker;
    series.unit = row.unit;
    series.points.reserve(series.points.size() + std::min(row.count, positions.size()));
    ValueScan(connection, attempt, positions.size())
        .run(row.id, [&](std::span<const TickValue> piece) {
          for (const TickValue& one : piece)
            series.points.push_back({positions[one.tick], one.value});
        });
  }
}

}  // namespace

std::vector<ValidAttempt> valid_attempts(const Connection& connection, const std::string& run_id) {
  Statement select(connection,
                   "SELECT a.id, coalesce(a.valid_until_tick, ?2) AS last_valid FROM attempts a"
                   " JOIN runs r ON r.number = a.run WHERE r.id = ?1 AND last_valid > 0"
                   " ORDER BY a.number");
  select.bind(run_id, std::numeric_limits<std::int64_t>::max());
  std::vector<ValidAttempt> attempts;
  while (select.step()) attempts.push_back({select.integer(0), select.integer(1)});
  return attempts;
}

std::vector<Series> read_series(const Store& store, const std::string& run_id,
                                const std::string& metric, bool whole_run_only) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  SeriesByName all;
  for (const Attempt& attempt : valid_attempts(connection, run_id))
    append_values(connection, attempt, metric, whole_run_only, all);
  std::vector<Series> series;
  for (auto& [name, one] : all) series.push_back(std::move(one));
  return series;
}

void visit_series(const Store& store, const std::string& run_id,
                  const std::vector<std::string>& metrics, SeriesVisitor& visitor) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  for (const Attempt& attempt : valid_attempts(connection, run_id)) {
    std::vector<Position> positions;
    for (const SeriesRow& row : series_of(connection, attempt)) {
      if (row.worker != kWholeRun || std::ranges::find(metrics, row.metric) == metrics.end())
        continue;
      if (positions.empty()) {
        positions = positions_of(connection, attempt);
        visitor.positions(positions);
      }
      ValueScan(connection, attempt, positions.size())
          .run(row.id,
               [&](std::span<const TickValue> piece) { visitor.values(row.metric, piece); });
    }
  }
}

}  // namespace acid
