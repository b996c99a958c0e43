// RunWriter: no record is lost or changed, and recording never waits.
#include <cmath>
#include <thread>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/upkeep_fixture.hpp"

namespace acid {
namespace {

using namespace test;

struct Recording : OneRun {
  std::int64_t attempt = begin();
};

/// A recording with its writer.
struct Writing : Recording {
  RunWriter writer{temp.store(), run.id, attempt};
};

TEST_CASE("every value comes back exactly, NaN and infinities included") {
  Recording recording;
  const std::vector<double> values{0.0, -0.0, 1.0 / 3, kNaN, kInfinity, -kInfinity, 5e-324, 1e308};
  {
    RunWriter writer(recording.temp.store(), recording.run.id, recording.attempt);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(i);
      sample(writer, {static_cast<std::int64_t>(i), x / 7, x / 3, 1LL << 50},
             {{"eval_loss", kWholeRun, values[i]},
              {"staleness", 2, -values[i]},
              {"an unknown metric", 0, x}});
    }
  }
  const auto series = recording.series();
  REQUIRE(series.size() == 3);
  CHECK(series[0].metric == "an unknown metric");
  CHECK(series[0].worker == 0);
  CHECK(series[0].unit == "1");
  CHECK(series[1].metric == "eval_loss");
  CHECK(series[1].worker == kWholeRun);
  CHECK(series[2].unit == "updates");
  CHECK(series[2].worker == 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const SeriesPoint& point = series[1].points.at(i);
    const double x = static_cast<double>(i);
    if (std::isnan(values[i]))
      CHECK(std::isnan(point.value));
    else
      CHECK(point.value == values[i]);
    CHECK(point.position.gradients == static_cast<std::int64_t>(i));
    CHECK(point.position.normalised_time == x / 7);
    CHECK(point.position.seconds == x / 3);
    CHECK(point.position.bytes == 1LL << 50);
  }
  CHECK(number(recording.store,
               "SELECT count(*) FROM points WHERE special = 1 AND value IS NULL") == 2);
  CHECK(number(recording.store, "SELECT count(*) FROM points WHERE special IN (2, 3)") == 4);
}

TEST_CASE("a series keeps its count, last and best over batches") {
  Writing recording;
  int step = 0;
  for (const double loss : {kNaN, 3.0, 1.0, 2.0, kInfinity, kNaN}) {
    sample(recording.writer, {++step, 0, 0, 0},
           {{"eval_loss", kWholeRun, loss},
            {"eval_accuracy", kWholeRun, loss},
            {"exchanges", kWholeRun, loss}});
    recording.writer.flush();
  }
  CHECK(rows(recording.store, "metric, count, last, last_special, best, best_gradients",
             "series_list ORDER BY metric") ==
        "eval_accuracy|6||1|Inf|5\neval_loss|6||1|1.0|3\nexchanges|6||1||\n");
  CHECK(std::isnan(recording.summary().metrics.at("exchanges")));
}

TEST_CASE("a writer gives a store's connection back as it was") {
  Recording recording;
  const auto synced = [&] { return recording.store.impl().connection().pragma("synchronous"); };
  const std::int64_t before = synced();
  const std::vector<Value> row{{"eval_loss", kWholeRun, 3}};
  {
    RunWriter writer(recording.store, recording.run.id, recording.attempt);
    writer.sample({1, 1, 1, 0}, row);
    writer.flush();
    writer.sample({2, 2, 2, 0}, row);
  }
  CHECK(synced() == before);
  CHECK(before == 2);  // FULL
  CHECK_THROWS_AS(RunWriter(recording.store, "another", recording.attempt), StoreError);
  CHECK(synced() == before);
  CHECK(recording.series().at(0).points.size() == 2);
}

TEST_CASE("several threads record at once and nothing is lost") {
  Recording recording;
  constexpr int kThreads = 4, kSamples = 5000;
  {
    RunWriter writer(recording.temp.store(), recording.run.id, recording.attempt);
    std::vector<std::thread> threads;
    for (int worker = 0; worker < kThreads; ++worker)
      threads.emplace_back([&writer, worker] {
        for (int i = 1; i <= kSamples; ++i) {
          sample(writer, {i, 0, 0, 0}, {{"gradient_norm", worker, 1.0 * i}});
          writer.progress({i, 0, 0, 0});
          if (i % 1000 == 0) writer.note(Severity::info, "thousand");
          if (i % 2500 == 0) writer.flush();
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  const auto series = recording.series("gradient_norm");
  REQUIRE(series.size() == kThreads);
  for (const Series& one : series) {
    REQUIRE(one.points.size() == kSamples);
    for (int i = 0; i < kSamples; ++i)
      REQUIRE(one.points[static_cast<std::size_t>(i)].value == i + 1);
  }
  CHECK(recording.detail().log.size() == 5 * kThreads);
}

TEST_CASE("progress does not go back where threads tell it in another order") {
  Writing recording;
  for (const Position& here :
       {Position{10, 2, 3, 400}, Position{11, 2.2, 3.1, 380}, Position{9, 1.8, 2.9, 500}})
    recording.writer.progress(here);
  recording.writer.flush();
  const Position told = recording.summary().progress;
  CHECK(told.gradients == 11);
  CHECK(told.bytes == 400);
}

TEST_CASE("flush returns when everything is committed, also when there is nothing") {
  Writing recording;
  recording.writer.flush();
  sample(recording.writer, {10, 2, 3, 4}, {{"train_loss", kWholeRun, 1.5}});
  recording.writer.note(Severity::warning, "careful; \xf0\x9f\xa7\xaa");
  recording.writer.flush();
  const RunDetail detail = recording.detail();
  CHECK(detail.summary.metrics.at("train_loss") == 1.5);
  CHECK(detail.summary.progress.gradients == 10);
  CHECK(detail.summary.progress.bytes == 4);
  REQUIRE(detail.log.size() == 1);
  CHECK(detail.log[0].severity == Severity::warning);
  CHECK(detail.log[0].text == "careful; \xf0\x9f\xa7\xaa");
  recording.writer.flush();
}

TEST_CASE("progress and values become visible to others without a flush") {
  Writing recording;
  sample(recording.writer, {1, 0, 0, 0}, {{"train_loss", kWholeRun, 1.5}});
  recording.writer.progress({77, 8, 9, 10});
  const Store reader(recording.temp.store(), Store::Access::read);
  RunSummary run;
  CHECK(comes_true([&] {
    run = run_summaries(reader, {recording.run.id}).at(0);
    return run.progress.gradients == 77 && run.metrics.count("train_loss") == 1;
  }));
  CHECK(run.progress.gradients == 77);
  CHECK(run.progress.normalised_time == 8);
  CHECK(run.metrics.at("train_loss") == 1.5);
}

TEST_CASE("an idle writer renews the heartbeat") {
  Recording recording;
  const auto heartbeat = [&] {
    return first_text(recording.store, "SELECT heartbeat FROM attempts");
  };
  const std::string begun = heartbeat();
  RunWriter writer(recording.temp.store(), recording.run.id, recording.attempt);
  CHECK(comes_true([&] { return heartbeat() > begun; }));
}

TEST_CASE("recording does not wait for a locked store, and nothing is lost") {
  Recording recording;
  constexpr int kSamples = 20000;
  {
    RunWriter writer(recording.temp.store(), recording.run.id, recording.attempt);
    sqlite::Transaction lock(recording.store.impl().connection(), sqlite::Transaction::Kind::write);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 1; i <= kSamples; ++i)
      sample(writer, {i, 0, 0, 0}, {{"train_loss", kWholeRun, 1.0 * i}});
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took < std::chrono::seconds(sqlite::Connection::kBusySeconds / 2));
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    CHECK(number(recording.store, "SELECT count(*) FROM points") == 0);
    lock.commit();
    writer.flush();
  }
  CHECK(recording.series().at(0).points.size() == kSamples);
}

TEST_CASE("a failure of the writer thread reaches the next flush and the next sample") {
  Writing recording;
  recording.execute("DROP TABLE points");
  const Value value{"train_loss", kWholeRun, 1};
  recording.writer.sample({1, 0, 0, 0}, {&value, 1});
  CHECK_THROWS_AS(recording.writer.flush(), StoreError);
  CHECK_THROWS_WITH(recording.writer.sample({2, 0, 0, 0}, {&value, 1}),
                    ContainsSubstring(recording.temp.store()));
  recording.writer.progress({3, 0, 0, 0});
  recording.writer.note(Severity::error, "ignored");
}

TEST_CASE("two values of one series in one sample are a bug that is reported") {
  Writing recording;
  sample(recording.writer, {1, 0, 0, 0}, {{"train_loss", 1, 1.0}, {"train_loss", 1, 2.0}});
  CHECK_THROWS_AS(recording.writer.flush(), AssertionError);
}

TEST_CASE("a checkpoint's file goes when the disk is too full for its row, and stays in doubt") {
  Recording recording;
  const bool full = GENERATE(false, true);
  RunWriter writer(recording.temp.store(), recording.run.id, recording.attempt);
  CheckpointRecord record;
  record.path = path_of(recording.run.id, "one");
  record.worker_digests = {"digest"};
  record.tensor_digests = {{1}};
  write_file(recording.temp.store(), record.path, "content");
  if (full)
    fill_the_disk(recording.store, "INSERT");
  else
    recording.execute("DROP TABLE cut_digests");
  CHECK_THROWS_AS(writer.checkpoint(record, 2), StoreError);
  CHECK(exists(recording.temp.store(), record.path) != full);
  CHECK(number(recording.store, "SELECT count(*) FROM checkpoints") == 0);
}

TEST_CASE("a full store is reported with the remedy, and what was committed stays") {
  Recording recording;
  sqlite::Connection& connection = recording.store.impl().connection();
  recording.store.mark_interrupted(recording.run.id, getpid(), "");
  connection.execute("PRAGMA max_page_count = 1");
  try {
    for (int i = 0; i < 1000; ++i)
      recording.store.add_experiment(make_experiment(fmt::format("e{}", i)), {make_run(2)});
    FAIL("the store never became full");
  } catch (const StoreError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("the disk is full"));
    CHECK(error.code() == Exit::store);
  }
  CHECK(number(recording.store,
               "SELECT count(*) FROM runs WHERE id = '" + recording.run.id + "'") == 1);
}

}  // namespace
}  // namespace acid
