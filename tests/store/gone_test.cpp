// A store that is removed, replaced or moved while a run writes to it.
#include <filesystem>
#include <thread>

#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;
namespace fs = std::filesystem;

struct Written : OneRun {
  std::int64_t attempt = begin();
  RunWriter writer{temp.store(), run.id, attempt};

  /// What the store has before it is lost.
  void sample_and_flush() {
    sample(1);
    writer.flush();
  }
  void sample(double value) {
    test::sample(writer, {static_cast<std::int64_t>(value), value, 0, 0},
                 {{"eval_loss", kWholeRun, value}});
  }
  /// The error of flush().
  std::string complaint() {
    try {
      writer.flush();
    } catch (const StoreError& error) {
      CHECK(error.code() == Exit::store);
      return error.what();
    }
    return "nothing";
  }
  std::string kept() const {
    return temp.store() + "-kept-" + run.id + "-" + std::to_string(attempt);
  }
};

std::vector<double> values_in(const std::string& folder, const std::string& run) {
  std::vector<double> values;
  for (const Series& series : read_series(Store(folder, Store::Access::read), run))
    for (const SeriesPoint& point : series.points) values.push_back(point.value);
  return values;
}

TEST_CASE("a run whose store is removed stops recording and keeps what there was beside it") {
  Written written;
  written.sample_and_flush();
  fs::remove_all(written.temp.store());
  written.sample(2);
  CHECK_THAT(written.complaint(), ContainsSubstring("was removed or moved") &&
                                      ContainsSubstring(written.kept()) &&
                                      ContainsSubstring("acid list --store"));
  CHECK(values_in(written.kept(), written.run.id) == std::vector<double>{1, 2});
  CHECK_FALSE(fs::exists(written.temp.store()));
  CHECK_THROWS_AS(written.sample(3), StoreError);
  CHECK_THROWS_AS(written.store.end_attempt(written.attempt, ended_as(RunState::finished)),
                  StoreError);
}

TEST_CASE("what was kept of a store that was lost stays when the run loses its store again") {
  Written written;
  fs::create_directories(written.kept() + "/checkpoints");
  written.sample_and_flush();
  fs::remove_all(written.temp.store());
  written.sample(2);
  CHECK_THAT(written.complaint(), ContainsSubstring(written.kept() + "-2"));
  CHECK(values_in(written.kept() + "-2", written.run.id) == std::vector<double>{1, 2});
  CHECK(fs::is_empty(written.kept() + "/checkpoints"));
}

TEST_CASE("a run whose store is replaced leaves the new one alone") {
  Written written;
  written.sample_and_flush();
  fs::remove_all(written.temp.store());
  const RunRecord other = make_run(2);
  make_store(written.temp.store(), {other});
  written.sample(2);
  CHECK_THAT(written.complaint(), ContainsSubstring("was replaced"));
  CHECK(values_in(written.kept(), written.run.id) == std::vector<double>{1, 2});
  const auto runs = list_runs(Store(written.temp.store(), Store::Access::read));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].id == other.id);
}

TEST_CASE("a run whose store is moved stops, with everything where the store is now") {
  Written written;
  written.sample_and_flush();
  const std::string elsewhere = written.temp.path() + "/elsewhere";
  fs::rename(written.temp.store(), elsewhere);
  written.sample(2);
  CHECK_THAT(written.complaint(), ContainsSubstring(elsewhere));
  CHECK(values_in(elsewhere, written.run.id) == std::vector<double>{1, 2});
  CHECK_FALSE(fs::exists(written.kept()));
  CHECK_FALSE(fs::exists(written.temp.store()));
}

TEST_CASE("before a file is written, the store is asked for, also when nothing waits for it") {
  Written written;
  written.writer.refuse_if_gone();
  fs::remove_all(written.temp.store());
  CHECK_THROWS_WITH(written.writer.refuse_if_gone(), ContainsSubstring(written.kept()));
}

TEST_CASE("removing what SQLite keeps beside the database does not stop a run") {
  Written written;
  written.sample_and_flush();
  fs::remove_all(written.temp.store() + "/checkpoints");
  written.sample(2);
  CHECK(written.complaint() == "nothing");
}

}  // namespace
}  // namespace acid
