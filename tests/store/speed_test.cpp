// Loose bounds, a small part of what acid-bench measures: they catch a lost index or a transaction
// per value, and hold on a busy machine and under sanitizers.
#include <algorithm>
#include <array>
#include <chrono>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
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

TEST_CASE("a thousand runs are listed at once") {
  TempFolder temp;
  std::vector<RunRecord> runs;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) runs.push_back(make_run(seed));
  Store store = make_store(temp.store(), runs);
  const sqlite::Connection& connection = store.impl().connection();
  sqlite::Transaction transaction(connection, sqlite::Transaction::Kind::write);
  for (int attempt = 1; attempt <= 1000; ++attempt) {
    sqlite::Statement(connection,
                      "INSERT INTO attempts (id, run, number, host, boot_id, pid, process_start,"
                      " started, heartbeat, ended, outcome, environment, seeds) VALUES"
                      " (?1, ?1, 1, '', '', 1, 1, '2025', '2025', '2026', 'finished', '', '')")
        .bind(attempt)
        .run();
    for (const char* name : kNames)
      sqlite::Statement(connection,
                        "INSERT INTO series (attempt, worker, metric, unit, better, count,"
                        " last_tick, last, last_special) VALUES (?, -1, ?, '1', -1, 1, 1, 0.5, 0)")
          .bind(attempt, name)
          .run();
  }
  transaction.commit();
  const Store reader(temp.store(), Store::Access::read);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const Stopwatch watch;
    const auto listed = list_runs(reader);
    best = std::min(best, watch.seconds());
    REQUIRE(listed.size() == 1000);
    REQUIRE(listed.back().metrics.size() == kNames.size());
  }
  INFO(fmt::format("1,000 runs listed in {:.1f} ms", best * 1e3));
  CHECK(best < 0.5);
}

}  // namespace
}  // namespace acid
