// Loose bounds, a small part of what acid-bench measures: they find a lost index or a transaction
// per value. They count processor time, in units of SQLite's own time for a row, so that they hold
// on slow and on busy machines.
#include <algorithm>
#include <array>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/processor_time.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

/// Seconds for one row in a table without any index, in a transaction of many.
double seconds_of_a_row() {
  constexpr int kRows = 100'000;
  const ScratchFolder temp;
  const sqlite::Connection connection(temp.path() + "/rows.db", "rows",
                                      sqlite::Connection::Mode::write);
  connection.execute("CREATE TABLE rows (a INTEGER, b INTEGER, c REAL)");
  const ProcessorTime time;
  sqlite::Transaction transaction(connection, sqlite::Transaction::Kind::write);
  sqlite::Statement insert(connection, "INSERT INTO rows VALUES (?, ?, ?)");
  for (int i = 0; i < kRows; ++i) insert.bind(i, i % 7, 0.1 * i).run();
  transaction.commit();
  return time.seconds() / kRows;
}

constexpr std::array kNames{"train_loss",         "eval_loss", "eval_accuracy",
                            "consensus_distance", "staleness", "idle_share"};

std::vector<Value> row_of(double x) {
  std::vector<Value> row;
  for (const char* name : kNames) row.push_back({name, kWholeRun, x});
  return row;
}

/// Checks what it costs to write so many of something into a run, and to read them, in rows.
template <class Write, class Read>
void check_speed(const char* what, double count, double most_rows, double most_bytes,
                 double most_reading, const Write& write, const Read& read) {
  OneRun f;
  const ProcessorTime time;
  {
    RunWriter writer(f.temp.store(), f.run.id, f.begin());
    write(writer);
    writer.flush();
  }
  const double seconds = time.seconds();
  const double bytes =
      static_cast<double>(std::filesystem::file_size(f.temp.store() + "/store.db"));
  const double rows = count * seconds_of_a_row();
  const ProcessorTime reading;
  CHECK(read(f));
  const double read_seconds = reading.seconds();
  INFO(
      fmt::format("{:.0f} {}/s, {:.2f} rows and {:.1f} bytes each; read {:.0f}/s, {:.3f} rows each",
                  count / seconds, what, seconds / rows, bytes / count, count / read_seconds,
                  read_seconds / rows));
  CHECK(seconds < most_rows * rows);
  CHECK(bytes / count < most_bytes);
  CHECK(read_seconds < most_reading * rows);
}

TEST_CASE("points and events are written and read fast, and narrow", "[release]") {
  constexpr int kSamples = 50'000;
  check_speed(
      "points", static_cast<double>(kSamples * kNames.size()), 10, 40, 2,
      [](RunWriter& writer) {
        for (int i = 1; i <= kSamples; ++i)
          writer.sample({i, i / 16.0, i * 0.01, i}, row_of(1.0 / i));
      },
      [](const OneRun& f) { return f.series().size() == kNames.size(); });

  constexpr int kWorkers = 4, kPortion = 1024, kPortions = 128;
  std::vector<Event> portion(kPortion);
  for (std::size_t i = 0; i < kPortion; ++i)
    portion[i] = {EventKind::exchange, 0.1 * static_cast<double>(i), i, static_cast<unsigned>(i)};
  check_speed(
      "events", kWorkers * kPortion * kPortions, 2, 20, 1,
      [&](RunWriter& writer) {
        for (int i = 0; i < kPortions; ++i)
          for (int worker = 0; worker < kWorkers; ++worker)
            writer.events(worker, 1LL * i * kPortion, portion);
      },
      [](const OneRun& f) {
        const auto all = read_events(f.store, f.run.id);
        return std::ranges::all_of(all, [](const auto& worker) {
          return worker.size() == kPortion * kPortions * kEventBytes;
        });
      });
}

/// Runs that were interrupted and continued nine times, with values in each attempt.
void record_attempts(Store& store, int runs, int attempts) {
  const sqlite::Connection& connection = store.impl().connection();
  sqlite::Transaction transaction(connection, sqlite::Transaction::Kind::write);
  sqlite::Statement attempt(
      connection,
      "INSERT INTO attempts (run, number, host, boot_id, pid, process_start, started, heartbeat,"
      " ended, outcome, valid_until_tick, environment, seeds) VALUES"
      " (?, ?, '', '', 1, 1, '2025', '2025', '2026', 'finished', ?, '', '')");
  sqlite::Statement series(
      connection,
      "INSERT INTO series (attempt, worker, metric, unit, better, count, last_tick, last,"
      " last_special) VALUES (?, -1, ?, '1', -1, 1, 1, ?, 0)");
  for (int number = 1; number <= attempts; ++number)
    for (int run = 1; run <= runs; ++run) {
      attempt.bind(run, number, number < attempts ? std::optional(1) : std::nullopt).run();
      const std::int64_t id = connection.last_insert_id();
      for (const char* name : kNames) series.bind(id, name, 0.5 + number).run();
    }
  transaction.commit();
}

TEST_CASE("a thousand runs of ten attempts each are listed at once", "[release]") {
  constexpr int kAttempts = 10;
  ScratchFolder temp;
  std::vector<RunRecord> runs;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) runs.push_back(make_run(seed));
  Store store = make_store(temp.store(), runs);
  record_attempts(store, 1000, kAttempts);
  const Store reader(temp.store(), Store::Access::read);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const ProcessorTime time;
    const auto listed = list_runs(reader);
    best = std::min(best, time.seconds());
    REQUIRE(listed.size() == 1000);
    REQUIRE(listed.back().metrics.size() == kNames.size());
    REQUIRE(listed.back().metrics.at("eval_loss") == 0.5 + kAttempts);
  }
  const double rows = 1000.0 * kAttempts * kNames.size() * seconds_of_a_row();
  INFO(fmt::format("1,000 runs listed in {:.1f} ms, {:.2f} rows each", best * 1e3, best / rows));
  CHECK(best < 4 * rows);
}

}  // namespace
}  // namespace acid
