#include "store/contents.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "store/impl.hpp"
#include "store/maintenance.hpp"
#include "store/proof.hpp"
#include "store/row_digest.hpp"
#include "store/rows.hpp"

namespace acid {
namespace {

constexpr const char* kEverything = "coalesce({}, 9223372036854775807)";

/// Where a row lies, what only seals it, or what acid changes later without executing anything.
bool is_place(const std::string& table, const std::string& column) {
  constexpr std::array kPlaces{"run",  "attempt", "series",  "checkpoint",
                               "seal", "proof",   "removed", "superseded"};
  if (column == "id") return table != "runs" && table != "experiments";
  if (column == "path") return table == "checkpoints" || table == "artifacts";
  if (column == "number") return table != "checkpoints";
  if (column == "first_asked") return true;  // of all stores' definitions the first: see merge.cpp
  return std::ranges::find(kPlaces, column) != kPlaces.end();
}

std::string content_columns(const Connection& connection, const std::string& table) {
  std::vector<std::string> kept;
  for (const std::string& column : columns_of(connection, table))
    if (!is_place(table, column)) kept.push_back(column);
  return fmt::format("{}", fmt::join(kept, ", "));
}

/// Tables of which a part may count, and others that change after the attempt.
bool is_of_what_counts(const std::string& table) {
  constexpr std::array kTables{"artifacts", "attempts", "checkpoints",  "event_chunks",
                               "series",    "ticks",    "verifications"};
  return std::ranges::find(kTables, table) != kTables.end();
}

std::string kept_of(const Connection& connection, std::int64_t attempt) {
  RowDigest digest(connection);
  digest.add(
      "SELECT a.host, a.boot_id, a.pid, a.process_start, a.started, " ACID_HOW_IT_ENDED
      ", a.gradients, a.normalised_time, a.seconds, a.bytes, a.environment, a.seeds, a.changed"
      " FROM attempts a WHERE a.id = ?",
      attempt);
  std::string tables;
  for (const std::string& table : tables_of(connection))
    if (!is_of_what_counts(table) && way_to_attempt(connection, table) == "attempt")
      tables += content_of_rows(connection, table, "attempt = ?", attempt);
  return sha256_hex(digest.hex() + tables);
}

void add_series(const Connection& connection, std::int64_t attempt, RowDigest& digest) {
  Statement series(connection, fmt::format("SELECT s.id, {} FROM series s JOIN attempts a ON"
                                           " a.id = s.attempt WHERE a.id = ? AND"
                                           " coalesce(a.valid_until_tick, 1) > 0"
                                           " ORDER BY s.worker, s.metric",
                                           fmt::format(kEverything, "a.valid_until_tick")));
  const std::string columns = content_columns(connection, "series");
  for (series.bind(attempt); series.step();) {
    digest.add(fmt::format("SELECT {} FROM series WHERE id = ?", columns), series.integer(0));
    digest.add(
        "SELECT tick, value, special FROM points WHERE series = ? AND tick <= ?"
        " ORDER BY tick",
        series.integer(0), series.integer(1));
  }
}

/// What counts of an attempt, beside what is kept of every one.
std::string counting_of(const Connection& connection, std::int64_t attempt) {
  RowDigest digest(connection);
  const auto add = [&](const std::string& table, const std::string& condition) {
    digest.add(fmt::format("SELECT {} FROM {} WHERE {}", content_columns(connection, table), table,
                           condition),
               attempt);
  };
  const auto until = [](const char* column) {
    return fmt::format("(SELECT {} FROM attempts WHERE id = ?1)", fmt::format(kEverything, column));
  };
  digest.add(
      "SELECT c.number FROM attempts a JOIN checkpoints c ON c.id = a.resumed_from"
      " WHERE a.id = ?",
      attempt);
  add("ticks", fmt::format("attempt = ?1 AND tick <= {} ORDER BY tick", until("valid_until_tick")));
  add("event_chunks",
      fmt::format("attempt = ?1 AND chunk <= {} ORDER BY chunk", until("valid_until_chunk")));
  add("checkpoints", "attempt = ?1 AND superseded = 0 ORDER BY number");
  digest.add(
      "SELECT c.number, d.worker, d.digest, d.tensors FROM checkpoints c JOIN cut_digests d"
      " ON d.checkpoint = c.id WHERE c.attempt = ? AND c.superseded = 0"
      " ORDER BY c.number, d.worker",
      attempt);
  add("artifacts",
      "attempt = ?1 AND (SELECT valid_until_tick FROM attempts WHERE id = ?1) IS NULL"
      " ORDER BY position");
  add_series(connection, attempt, digest);
  return digest.hex();
}

std::string verified_of(const Connection& connection, std::int64_t attempt) {
  return content_of_rows(connection, "verifications", "attempt = ?", attempt);
}

std::string results_of(const Connection& connection, std::int64_t attempt) {
  RowDigest digest(connection);
  digest.add("SELECT mean_digest FROM results WHERE attempt = ?", attempt);
  digest.add("SELECT worker, digest FROM worker_results WHERE attempt = ? ORDER BY worker",
             attempt);
  return digest.hex();
}

std::string prediction_of_run(const Connection& connection, std::int64_t run) {
  return content_of_rows(connection, "predictions", "run = ?", run) +
         content_of_rows(connection, "predicted_values", "run = ?", run);
}

/// Lines of the contents digest.
std::string lines_of_run(const Connection& connection, std::int64_t run) {
  const RunContent content = content_of_run(connection, run);
  std::vector<std::string> superseded;
  std::string counting;
  for (const AttemptContent& attempt : content.attempts) {
    const std::string line = attempt.kept + " " + verified_of(connection, attempt.id);
    if (attempt.counts)
      counting += line + "\n";
    else
      superseded.push_back(line);
  }
  std::ranges::sort(superseded);
  return fmt::format("run {} {}\npredicted {}\ncounting {}\n{}superseded {}\n{}\n",
                     content_of_rows(connection, "runs", "number = ?", run),
                     run_row_is_sealed(connection, run), prediction_of_run(connection, run),
                     content.counting, counting, fmt::join(superseded, "\nsuperseded "),
                     SealedLeft(connection, run).is_sound());
}

}  // namespace

std::string content_of_rows(const Connection& connection, const std::string& table,
                            const std::string& where, std::int64_t one) {
  RowDigest digest(connection);
  const std::string columns = content_columns(connection, table);
  digest.add(fmt::format("SELECT {0} FROM {1} WHERE {2} ORDER BY {0}", columns, table, where), one);
  return digest.hex();
}

std::string content_of_experiment(const Connection& connection, std::int64_t experiment) {
  RowDigest members(connection);
  members.add(
      "SELECT m.position, r.digest, m.label, m.role FROM experiment_runs m"
      " JOIN runs r ON r.number = m.run WHERE m.experiment = ? ORDER BY m.position",
      experiment);
  return content_of_rows(connection, "experiments", "number = ?", experiment) + members.hex();
}

RunContent content_of_run(const Connection& connection, std::int64_t run) {
  RunContent content;
  Statement select(connection,
                   "SELECT a.id, coalesce(a.valid_until_tick, 1) > 0 OR EXISTS (SELECT 1 FROM"
                   "  checkpoints c WHERE c.attempt = a.id AND c.superseded = 0),"
                   " a.started, a.host || ' ' || a.boot_id || ' ' || a.pid || ' ' ||"
                   " a.process_start || ' ' || a.started,"
                   " EXISTS (SELECT 1 FROM results x WHERE x.attempt = a.id), " ACID_HOW_IT_ENDED
                   ", a.gradients FROM attempts a WHERE a.run = ? ORDER BY a.number");
  for (select.bind(run); select.step();) {
    content.attempts.push_back({select.integer(0), select.integer(1) != 0, select.text(2),
                                select.text(3), select.integer(4) != 0, select.text(5), ""});
    content.state = select.text(6);
    content.gradients = select.integer(8);
  }
  if (content.attempts.empty()) return content;
  content.attempts.back().counts = true;
  std::string counting;
  for (AttemptContent& attempt : content.attempts) {
    attempt.kept = kept_of(connection, attempt.id);
    if (attempt.counts) counting += attempt.kept + " " + counting_of(connection, attempt.id) + "\n";
  }
  content.counting = sha256_hex(std::string_view(counting));
  if (content.attempts.back().has_result)
    content.results = results_of(connection, content.attempts.back().id);
  return content;
}

std::string contents_digest(const Store& store) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  Sha256 digest;
  for (const std::int64_t run : numbers(connection, "SELECT number FROM runs ORDER BY id"))
    digest.update(lines_of_run(connection, run));
  for (const std::int64_t each :
       numbers(connection, "SELECT number FROM experiments ORDER BY created, id"))
    digest.update(fmt::format(
        "experiment {} {} {}\n", content_of_experiment(connection, each),
        broken_experiment(connection, each).empty(),
        fmt::join(
            texts(connection,
                  "SELECT coalesce(first_asked, created) FROM experiments WHERE number = ?", each),
            "")));
  digest.update(
      fmt::format("tags {} {}\n", digest_of_tags(connection), tags_are_sealed(connection)));
  return digest.hex();
}

}  // namespace acid
