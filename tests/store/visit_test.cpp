// Series that are handed over while they are read, and the scan of rows below that.
#include <cmath>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;

struct Heard : SeriesVisitor {
  std::vector<Position> ticks;
  std::map<std::string, std::vector<SeriesPoint>> series;
  int attempts = 0, pieces = 0;

  void positions(std::span<const Position> its_ticks) override {
    ++attempts;
    ticks.assign(its_ticks.begin(), its_ticks.end());
  }
  void values(const std::string& metric, std::span<const TickValue> piece) override {
    ++pieces;
    for (const TickValue& one : piece) series[metric].push_back({ticks.at(one.tick), one.value});
  }
};

void check_same(const std::vector<SeriesPoint>& heard, const std::vector<SeriesPoint>& read) {
  REQUIRE(heard.size() == read.size());
  for (std::size_t k = 0; k < heard.size(); ++k) {
    CHECK(heard[k].position.gradients == read[k].position.gradients);
    CHECK(heard[k].position.seconds == read[k].position.seconds);
    CHECK((heard[k].value == read[k].value || std::isnan(read[k].value)));
  }
}

TEST_CASE("a visitor hears each whole-run series that was asked for, in pieces") {
  constexpr int kSamples = 3000;
  const ScratchFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  RunWriter writer(temp.store(), run.id, begin(store, run.id));
  for (int k = 1; k <= kSamples; ++k) {
    const std::vector<Value> values{{"train_loss", kWholeRun, k == 7 ? NAN : 1.0 / k},
                                    {"staleness", 2, 1.0},
                                    {"idle_share", kWholeRun, 0.5}};
    writer.sample({4 * k, 1.0 * k, 0.1 * k, 100 * k}, std::span(values).first(k % 2 == 0 ? 3 : 2));
  }
  writer.flush();
  Heard heard;
  visit_series(store, run.id, {"train_loss", "staleness", "idle_share", "eval_loss"}, heard);
  CHECK(heard.attempts == 1);
  CHECK(heard.pieces > 3);
  REQUIRE(heard.series.size() == 2);
  for (const auto& [metric, points] : heard.series)
    check_same(points, read_series(store, run.id, metric, true).at(0).points);
  CHECK(heard.series["idle_share"].size() == kSamples / 2);
  CHECK(std::isnan(heard.series["train_loss"].at(6).value));
  Heard nothing;
  visit_series(store, "unknown", {"train_loss"}, nothing);
  visit_series(store, run.id, {}, nothing);
  CHECK(nothing.attempts == 0);
}

TEST_CASE("a visitor hears a continued run attempt by attempt, superseded values left out") {
  Story story;
  story.begin_and_go_on();
  const auto all = story.series("", true);
  REQUIRE_FALSE(all.empty());
  Heard heard;
  visit_series(story.store, story.run.id, {all[0].metric}, heard);
  CHECK(heard.attempts == 2);
  check_same(heard.series[all[0].metric], all[0].points);
}

TEST_CASE("a scan calls for every row, as often as it is run, and passes on what a call throws") {
  const ScratchFolder temp;
  const Store store = make_store(temp.store(), {make_run(1), make_run(2)});
  const sqlite::Connection& connection = store.impl().connection();
  sqlite::RowScan scan(connection, "number, NULL", "FROM runs WHERE number <= ?");
  sqlite::RowScan other(connection, "seed", "FROM runs");
  std::int64_t sum = 0;
  const auto add = [&](const sqlite::RowScan::Row& row) {
    CHECK(std::isnan(row.real(1)));
    sum += row.integer(0);
  };
  scan.run(add, 1);
  scan.run(add, 2);
  CHECK(sum == 1 + 1 + 2);
  scan.run(add, 0);
  CHECK(sum == 4);
  const auto refuse = [](const sqlite::RowScan::Row&) { throw std::runtime_error("enough"); };
  CHECK_THROWS_WITH(scan.run(refuse, 2), "enough");
  scan.run(add, 1);
  CHECK(sum == 5);
  other.run([&](const sqlite::RowScan::Row& row) { sum += row.integer(0); });
  CHECK(sum == 8);
  CHECK_THROWS_AS(sqlite::RowScan(connection, "nothing", "FROM runs"), sqlite::SqliteError);
}

}  // namespace
}  // namespace acid
