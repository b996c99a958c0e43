// Loose bounds, a small part of what acid-bench measures: they catch a lost index or a transaction
// per value, and hold on a busy machine and under sanitizers. They count processor time.
#include <algorithm>
#include <array>
#include <ctime>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

class Stopwatch {
 public:
  double seconds() const { return now() - start_; }

 private:
  static double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
  const double start_ = now();
};

constexpr std::array kNames{"train_loss",         "eval_loss", "eval_accuracy",
                            "consensus_distance", "staleness", "idle_share"};

std::vector<Value> row_of(double x) {
  std::vector<Value> row;
  for (const char* name : kNames) row.push_back({name, kWholeRun, x});
  return row;
}

TEST_CASE("points are written fast and narrow") {
  constexpr int kSamples = 50'000;
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const Stopwatch watch;
  {
    RunWriter writer(temp.store(), run.id, begin(store, run.id));
    for (int i = 1; i <= kSamples; ++i) writer.sample({i, i / 16.0, i * 0.01, i}, row_of(1.0 / i));
    writer.flush();
  }
  const double seconds = watch.seconds();
  const double points = static_cast<double>(kSamples * kNames.size());
  const double bytes = static_cast<double>(std::filesystem::file_size(temp.store() + "/store.db"));
  INFO(fmt::format("{:.0f} points/s, {:.1f} bytes each", points / seconds, bytes / points));
  CHECK(points / seconds > 20'000);
  CHECK(bytes / points < 40);

  const Stopwatch reading;
  CHECK(read_series(store, run.id).size() == kNames.size());
  const double read_seconds = reading.seconds();
  INFO(fmt::format("read {:.0f} points/s", points / read_seconds));
  CHECK(read_seconds < 5);
}

TEST_CASE("events are written fast and narrow") {
  constexpr int kWorkers = 4, kPortion = 1024, kPortions = 128;
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  std::vector<Event> portion(kPortion);
  for (std::size_t i = 0; i < kPortion; ++i)
    portion[i] = {EventKind::exchange, 0.1 * static_cast<double>(i), i, static_cast<unsigned>(i)};
  const Stopwatch watch;
  {
    RunWriter writer(temp.store(), run.id, begin(store, run.id));
    for (int i = 0; i < kPortions; ++i)
      for (int worker = 0; worker < kWorkers; ++worker)
        writer.events(worker, 1LL * i * kPortion, portion);
    writer.flush();
  }
  const double seconds = watch.seconds();
  const double events = kWorkers * kPortion * kPortions;
  const double bytes = static_cast<double>(std::filesystem::file_size(temp.store() + "/store.db"));
  INFO(fmt::format("{:.0f} events/s, {:.1f} bytes each", events / seconds, bytes / events));
  CHECK(events / seconds > 50'000);
  CHECK(bytes / events < 20);

  const Stopwatch reading;
  const auto read = read_events(store, run.id);
  const double read_seconds = reading.seconds();
  for (const auto& worker : read) CHECK(worker.size() == kPortion * kPortions * kEventBytes);
  INFO(fmt::format("read {:.0f} events/s", events / read_seconds));
  CHECK(read_seconds < 5);
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

TEST_CASE("a thousand runs of ten attempts each are listed at once") {
  constexpr int kAttempts = 10;
  TempFolder temp;
  std::vector<RunRecord> runs;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) runs.push_back(make_run(seed));
  Store store = make_store(temp.store(), runs);
  record_attempts(store, 1000, kAttempts);
  const Store reader(temp.store(), Store::Access::read);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const Stopwatch watch;
    const auto listed = list_runs(reader);
    best = std::min(best, watch.seconds());
    REQUIRE(listed.size() == 1000);
    REQUIRE(listed.back().metrics.size() == kNames.size());
    REQUIRE(listed.back().metrics.at("eval_loss") == 0.5 + kAttempts);
  }
  INFO(fmt::format("1,000 runs listed in {:.1f} ms", best * 1e3));
  CHECK(best < 0.5);
}

}  // namespace
}  // namespace acid
