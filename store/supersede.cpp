#include "store/impl.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

struct CutPlace {
  std::int64_t attempt = 0;         // row id
  std::int64_t attempt_number = 0;  // in the run
  std::int64_t number = 0;          // of the checkpoint in the run
  std::int64_t last_tick = 0, last_chunk = 0;
  Position position;
};

CutPlace find_cut(const Connection& connection, std::int64_t run, const std::string& run_id,
                  std::int64_t checkpoint) {
  Statement find(connection,
                 "SELECT a.id, a.number, c.number, c.last_tick, c.last_chunk, c.gradients,"
                 " c.normalised_time, c.seconds, c.bytes, c.superseded"
                 " FROM checkpoints c JOIN attempts a ON a.id = c.attempt"
                 " WHERE c.id = ? AND a.run = ?");
  if (!find.bind(checkpoint, run).step())
    throw StoreError(
        fmt::format("run {} cannot continue from the checkpoint with id {}: the store {} has no "
                    "such checkpoint of it; 'acid show {}' lists those it has",
                    run_id, checkpoint, connection.place(), run_id));
  if (find.integer(9) != 0)
    throw StoreError(
        fmt::format("run {} cannot continue from checkpoint {}: a later attempt superseded it; "
                    "'acid show {}' lists the checkpoints that count",
                    run_id, find.integer(2), run_id));
  return {find.integer(0), find.integer(1),
          find.integer(2), find.integer(3),
          find.integer(4), {find.integer(5), find.real(6), find.real(7), find.integer(8)}};
}

// The same rules as in BatchWriter: NaN (NULL) is never the best, the first of equals is. Points
// after last_tick may be there: an earlier cut left them.
constexpr const char* kSummariseAgain = R"sql(
  UPDATE series SET
    count = count - (SELECT count(*) FROM points
                     WHERE series = id AND tick > ?2 AND tick <= series.last_tick),
    best_tick = iif(best_tick <= ?2, best_tick,
                    (SELECT tick FROM (SELECT tick, better * value AS merit FROM points
                                       WHERE series = id AND tick <= ?2 AND value IS NOT NULL
                                         AND better <> 0)
                     ORDER BY merit DESC, tick LIMIT 1)),
    (last_tick, last, last_special) =
      (SELECT tick, value, special FROM points
       WHERE series = id AND tick <= ?2 ORDER BY tick DESC LIMIT 1)
  WHERE attempt = ?1 AND last_tick > ?2)sql";

/// Lets the series of the attempt end at `last_tick` and updates their summaries.
void cut_series(const Connection& connection, std::int64_t attempt, std::int64_t last_tick) {
  // Series that begin later have no value left to summarise.
  constexpr const char* kBeginLater =
      "(SELECT id FROM series s WHERE s.attempt = ?1 AND s.last_tick > ?2 AND NOT EXISTS"
      " (SELECT 1 FROM points p WHERE p.series = s.id AND p.tick <= ?2))";
  Statement(connection, fmt::format("DELETE FROM points WHERE series IN {}", kBeginLater))
      .bind(attempt, last_tick)
      .run();
  Statement(connection, fmt::format("DELETE FROM series WHERE id IN {}", kBeginLater))
      .bind(attempt, last_tick)
      .run();
  Statement(connection, kSummariseAgain).bind(attempt, last_tick).run();
  Statement(connection,
            "UPDATE series SET best = (SELECT value FROM points WHERE series = id AND"
            " tick = best_tick) WHERE attempt = ?")
      .bind(attempt)
      .run();
}

}  // namespace

void supersede_everything(const Connection& connection, std::int64_t run) {
  Statement(connection,
            "UPDATE attempts SET valid_until_tick = 0, valid_until_chunk = 0 WHERE run = ?")
      .bind(run)
      .run();
  Statement(connection,
            "UPDATE checkpoints SET superseded = 1"
            " WHERE attempt IN (SELECT id FROM attempts WHERE run = ?)")
      .bind(run)
      .run();
}

Position supersede_after(const Connection& connection, std::int64_t run, const std::string& run_id,
                         std::int64_t checkpoint) {
  const CutPlace cut = find_cut(connection, run, run_id, checkpoint);
  Statement(connection,
            "UPDATE attempts SET valid_until_tick = 0, valid_until_chunk = 0"
            " WHERE run = ? AND number > ?")
      .bind(run, cut.attempt_number)
      .run();
  Statement(connection,
            "UPDATE attempts SET valid_until_tick = ?, valid_until_chunk = ? WHERE id = ?")
      .bind(cut.last_tick, cut.last_chunk, cut.attempt)
      .run();
  // Checkpoint numbers grow over all attempts of a run.
  Statement(connection,
            "UPDATE checkpoints SET superseded = 1 WHERE number > ?"
            " AND attempt IN (SELECT id FROM attempts WHERE run = ?)")
      .bind(cut.number, run)
      .run();
  // If no tick of the attempt counts, its series are hidden like those of any superseded attempt.
  if (cut.last_tick > 0) cut_series(connection, cut.attempt, cut.last_tick);
  return cut.position;
}

void carry_last_values(const Connection& connection, std::int64_t run, std::int64_t attempt) {
  // With max(), SQLite takes the other columns from the row that has the maximum.
  Statement(connection,
            "INSERT INTO series (attempt, worker, metric, unit, better, count, last_tick, last,"
            " last_special) SELECT ?2, -1, metric, unit, better, 0, 0, last, last_special FROM"
            " (SELECT s.metric, s.unit, s.better, s.last, s.last_special, max(a.number)"
            "  FROM attempts a CROSS JOIN series s ON s.attempt = a.id AND s.worker = -1"
            "  WHERE a.run = ?1 AND a.id <> ?2 AND coalesce(a.valid_until_tick, 1) > 0"
            "  GROUP BY s.metric)")
      .bind(run, attempt)
      .run();
}

}  // namespace acid
