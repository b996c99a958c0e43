#include <algorithm>
#include <cmath>

#include "engine/recorder/metrics.hpp"
#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

/// The summary beside the values of a series, so that readers need not read all values.
struct Summary {
  std::int64_t count = 0, last_tick = 0, best_tick = 0;  // 0: none
  double last = NAN, best = NAN;
  std::int64_t last_special = 0;
};

struct SummaryRow {
  std::int64_t id = 0;
  std::string metric;
  int worker = kWholeRun;
  std::string unit;
  int better = 0;
  Summary summary;
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::vector<SummaryRow> rows_of(const Connection& connection, std::int64_t attempt) {
  Statement select(connection,
                   "SELECT id, metric, worker, unit, better, count, last_tick, best_tick, last,"
                   " best, last_special FROM series WHERE attempt = ? ORDER BY metric, worker");
  select.bind(attempt);
  std::vector<SummaryRow> rows;
  const std::string whose = "a series of attempt " + std::to_string(attempt);
  while (select.step())
    rows.push_back({.id = select.integer(0),
                    .metric = select.text(1),
                    .worker = static_cast<int>(select.integer(2, kWholeRun, kMostWorkers, whose)),
                    .unit = select.text(3),
                    .better = static_cast<int>(select.integer(4, -1, 1, whose)),
                    .summary = {.count = select.integer(5),
                                .last_tick = select.integer(6),
                                .best_tick = select.integer(7),
                                .last = select.real(8),
                                .best = select.real(9),
                                .last_special = select.integer(10)}});
  return rows;
}

/// How the summary disagrees with the values; empty: it agrees. The same rules as in BatchWriter:
/// NaN is never the best, the first of equals is.
std::string wrong_beside_values(const Connection& connection, const SummaryRow& row,
                                std::int64_t valid_until_tick) {
  Statement points(connection,
                   "SELECT tick, value, special FROM points WHERE series = ? AND tick <= ?"
                   " ORDER BY tick");
  points.bind(row.id, valid_until_tick);
  Summary found;
  while (points.step()) {
    const double value = points.real(1);
    if (points.integer(2) != special_of(value))
      return fmt::format("has a wrong mark at the value {} of sample {}", value, points.integer(0));
    ++found.count;
    found.last_tick = points.integer(0);
    found.last = value;
    if (row.better == 0 || std::isnan(value)) continue;
    if (found.best_tick != 0 && row.better * value <= row.better * found.best) continue;
    found.best_tick = found.last_tick;
    found.best = value;
  }
  const Summary& kept = row.summary;
  if (kept.count != found.count)
    return fmt::format("has {} values, said to be {}", found.count, kept.count);
  if (kept.last_tick != found.last_tick || !same(kept.last, found.last) ||
      kept.last_special != special_of(found.last))
    return fmt::format("ends with {:.17g}, said to be {:.17g}", found.last, kept.last);
  if (kept.best_tick != found.best_tick || !same(kept.best, found.best))
    return fmt::format("has {:.17g} for its best value, said to be {:.17g}", found.best, kept.best);
  return {};
}

/// How the summary of a series without values disagrees: the attempt took over the last value of an
/// earlier one.
std::string wrong_beside_earlier(const Connection& connection, const SummaryRow& row,
                                 std::int64_t attempt) {
  Statement earlier(connection,
                    "SELECT s.last, s.last_special, max(a.number) FROM attempts me"
                    " JOIN attempts a ON a.run = me.run AND a.number < me.number"
                    "  AND coalesce(a.valid_until_tick, 1) > 0"
                    " JOIN series s ON s.attempt = a.id AND s.worker = ?2 AND s.metric = ?3"
                    " WHERE me.id = ?1 GROUP BY s.metric");
  if (!earlier.bind(attempt, row.worker, row.metric).step()) return "has no values";
  if (same(earlier.real(0), row.summary.last) && earlier.integer(1) == row.summary.last_special)
    return {};
  return fmt::format("ended with {:.17g} in the attempt before, said to be {:.17g}",
                     earlier.real(0), row.summary.last);
}

std::string what_is_wrong(const Connection& connection, const ValidAttempt& attempt,
                          const SummaryRow& row) {
  const Metric* metric = find_metric(row.metric);
  if (row.unit != (metric != nullptr ? metric->unit : "1") ||
      row.better != (metric != nullptr ? metric->better : 0))
    return "has another unit or direction than this metric";
  if (row.summary.count == 0) return wrong_beside_earlier(connection, row, attempt.id);
  return wrong_beside_values(connection, row, attempt.valid_until_tick);
}

}  // namespace

std::vector<std::string> wrong_summaries(const Store& store, const std::string& run_id) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  std::vector<std::string> wrong;
  for (const ValidAttempt& attempt : valid_attempts(connection, run_id))
    for (const SummaryRow& row : rows_of(connection, attempt.id)) {
      const std::string what = what_is_wrong(connection, attempt, row);
      if (what.empty()) continue;
      const std::string whose =
          row.worker == kWholeRun ? "" : fmt::format(" of worker {}", row.worker);
      wrong.push_back(fmt::format("{}{} {}", row.metric, whose, what));
    }
  return wrong;
}

}  // namespace acid
