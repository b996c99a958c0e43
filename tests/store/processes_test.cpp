// Several processes at one store, and processes that are killed.
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

void record(const std::string& folder, const std::string& run_id, std::int64_t attempt, int samples,
            double pause_seconds) {
  RunWriter writer(folder, run_id, attempt);
  for (int i = 1; i <= samples; ++i) {
    sample(writer, {i, 0, 0, 0}, {{"train_loss", kWholeRun, 1.0 * i}, {"staleness", 0, 2.0 * i}});
    if (pause_seconds > 0)
      std::this_thread::sleep_for(std::chrono::duration<double>(pause_seconds));
  }
  writer.flush();
}

TEST_CASE("processes that create one store at once agree on it") {
  for (int round = 0; round < 5; ++round) {
    ScratchFolder temp;
    std::vector<pid_t> children;
    for (std::uint64_t seed = 1; seed <= 6; ++seed)
      children.push_back(start([&temp, seed] {
        Store store(temp.store(), Store::Access::write);
        store.add_experiment(make_experiment(fmt::format("e{}", seed)), {make_run(seed)});
      }));
    for (const pid_t child : children) CHECK(succeeded(child));
    CHECK(list_runs(Store(temp.store(), Store::Access::read)).size() == 6);
  }
}

TEST_CASE("several processes write at once and nothing is lost") {
  constexpr int kProcesses = 3, kSamples = 30000;
  ScratchFolder temp;
  std::vector<RunRecord> runs;
  for (int i = 0; i < kProcesses; ++i) runs.push_back(make_run(static_cast<std::uint64_t>(i)));
  std::vector<pid_t> children;
  for (const RunRecord& run : runs)
    children.push_back(start([&] {
      Store store(temp.store(), Store::Access::write);
      store.add_experiment(make_experiment(run.id), {run});
      const std::int64_t attempt = begin(store, run.id);
      record(temp.store(), run.id, attempt, kSamples, 0);
      store.end_attempt(attempt, ended_as(RunState::finished));
    }));
  for (const pid_t child : children) CHECK(succeeded(child));
  const Store store(temp.store(), Store::Access::read);
  CHECK(first_text(store, "PRAGMA integrity_check") == "ok");
  for (const RunRecord& run : runs) {
    const auto series = read_series(store, run.id);
    REQUIRE(series.size() == 2);
    for (const Series& one : series) {
      REQUIRE(one.points.size() == kSamples);
      CHECK(one.points.back().value == (one.worker == 0 ? 2.0 : 1.0) * kSamples);
    }
    CHECK(run_summaries(store, {run.id}).at(0).state == RunState::finished);
  }
}

TEST_CASE("a writer killed at any instant leaves a sound store and an interrupted run") {
  for (int round = 0; round < 5; ++round) {
    ScratchFolder temp;
    const RunRecord run = make_run(1);
    const pid_t child = start([&] {
      Store store = make_store(temp.store(), {run});
      record(temp.store(), run.id, begin(store, run.id), 1'000'000, 1e-5);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 131 * round));
    kill(child, SIGKILL);
    CHECK_FALSE(succeeded(child));
    Store store(temp.store(), Store::Access::write);
    CHECK(first_text(store, "PRAGMA integrity_check") == "ok");
    if (list_runs(store).empty()) continue;  // killed before it had made the store
    const RunState state = run_summaries(store, {run.id}).at(0).state;
    CHECK((state == RunState::interrupted || state == RunState::planned));
    // Batches are whole: both series have the same points, without a gap.
    const auto series = read_series(store, run.id);
    if (!series.empty()) {
      REQUIRE(series.size() == 2);
      CHECK(series[0].points.size() == series[1].points.size());
      CHECK(series[1].points.back().value == static_cast<double>(series[1].points.size()));
    }
    const std::int64_t attempt = begin(store, run.id);
    record(temp.store(), run.id, attempt, 10, 0);
    store.end_attempt(attempt, ended_as(RunState::finished));
    CHECK(run_summaries(store, {run.id}).at(0).state == RunState::finished);
  }
}

TEST_CASE("when the disk takes no more, the writer says so and what was committed stays") {
  ScratchFolder temp;
  const RunRecord run = make_run(1);
  const pid_t child = start([&] {
    Store store = make_store(temp.store(), {run});
    const std::int64_t attempt = begin(store, run.id);
    record(temp.store(), run.id, attempt, 10, 0);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2'000'000, 2'000'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      for (;;) record(temp.store(), run.id, attempt, 50'000, 0);
    } catch (const StoreError& error) {
      const bool clear = std::string(error.what()).find(temp.store()) != std::string::npos;
      _exit(clear ? 0 : 2);
    }
  });
  CHECK(succeeded(child));
  const Store store(temp.store(), Store::Access::read);
  CHECK(first_text(store, "PRAGMA integrity_check") == "ok");
  const auto series = read_series(store, run.id);
  REQUIRE(series.size() == 2);
  CHECK(series[0].points.size() >= 10);
  CHECK(series[0].points.size() == series[1].points.size());
  CHECK(run_summaries(store, {run.id}).at(0).state == RunState::interrupted);
}

}  // namespace
}  // namespace acid
