// The last values of a run against the clock: the throttle at every beginning of a gradient, and
// the sample at the end, recomputed from the event log.
#include <algorithm>
#include <atomic>
#include <string>

#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/drivers/replay_fixture.hpp"
#include "tests/waiting.hpp"

using namespace acid;
using test::comes_true;
using test::MemoryRecorder;
using test::Replayable;
using test::script_of;

namespace {

/// The largest number of due edges that any worker had waiting when a gradient began, by its log.
/// It may count one more, which was in flight: the log does not tell.
int most_waiting(const MemoryRecorder& recorder, const RunSpec& spec) {
  std::vector<std::vector<double>> due(static_cast<std::size_t>(spec.workers));
  EdgeSchedule list(*spec.topology, spec.method.rate, spec.seeds);
  const double end = static_cast<double>(spec.budget.gradients) / spec.workers;
  while (list.peek().due <= end) {
    const DueEdge edge = list.pop();
    for (const int w : {edge.i, edge.j}) due[static_cast<std::size_t>(w)].push_back(edge.due);
  }
  std::ptrdiff_t most = 0;
  for (int w = 0; w < spec.workers; ++w) {
    const std::vector<double>& own = due[static_cast<std::size_t>(w)];
    std::ptrdiff_t done = 0;
    for (const Event& event : recorder.events_of(w)) {
      done += event.kind == EventKind::exchange || event.kind == EventKind::offer;
      if (event.kind != EventKind::begin_gradient && event.kind != EventKind::commit_and_begin)
        continue;
      const auto by_now = std::upper_bound(own.begin(), own.end(), event.time) - own.begin();
      most = std::max(most, by_now - done);
    }
  }
  return static_cast<int>(most);
}

/// A short run on threads, known only by its log.
Replayable short_run(std::uint64_t seed, int exchange_threads) {
  Replayable run(
      {.workers = 4, .rate = 4, .gradients = 60, .dimension = 4 * kLongVector, .seed = seed});
  run.spec.cadence.consensus_every = 1.0 / 4;
  run.spec.cadence.evaluate_every = 10;
  run.options.exchange_threads = exchange_threads;
  return run;
}

/// "", or how the last sample differs from the state after the last event.
std::string stale_end(Replayable& run) {
  MemoryRecorder recorder, again;
  const Outcome recorded = run.record(recorder);
  // The marks of samples are left out, so nothing but the end is measured.
  ReplayScript script = script_of(recorder, run.spec.workers);
  for (auto& events : script.workers)
    std::erase_if(events, [](const Event& event) { return event.kind == EventKind::measured; });
  const Outcome replayed = run.replay(script, again);
  if (replayed.worker_digests != recorded.worker_digests) return "the replay";
  for (const char* metric : {"consensus_distance", "eval_loss", "exchanges", "bytes_sent"})
    if (recorder.last(metric) != again.last(metric))
      return metric + (": " + std::to_string(recorder.last(metric))) + ", and " +
             std::to_string(again.last(metric)) + " after the last event";
  const bool all_drawn =
      recorder.last("exchanges") == static_cast<double>(recorded.exchanges_drawn);
  return all_drawn ? "" : "the number of exchanges drawn";
}

void check_ends(int runs) {
  for (const int exchange_threads : {0, 1, 2}) {
    int wrong = 0;
    std::string first;
    for (int seed = 1; seed <= runs; ++seed) {
      Replayable run = short_run(static_cast<std::uint64_t>(seed), exchange_threads);
      const std::string found = stale_end(run);
      if (found.empty()) continue;
      if (++wrong == 1) first = "seed " + std::to_string(seed) + ", " + found;
    }
    INFO(runs << " runs with " << exchange_threads << " exchange threads: " << wrong
              << " end with a sample before the last event; the first: " << first);
    CHECK(wrong == 0);
    if (runs >= 300)
      WARN(runs << " runs with " << exchange_threads << " exchange threads: " << wrong
                << " wrong last samples");
  }
}

}  // namespace

TEST_CASE("threads: the last sample is the state after the last event") { check_ends(8); }

// Worker 1 commits the last gradient while the thread that measures waits for worker 0, whose
// commit was the last but one.
TEST_CASE("threads: a sample that comes too late is left to the end") {
  constexpr std::int64_t kAll = 20;
  Replayable run({.workers = 2, .rate = 100, .gradients = kAll, .dimension = 20000});
  run.spec.cadence.consensus_every = 0.5;
  struct Late final : Recorder {
    void sample(const Position& position, std::span<const Value> values) override {
      to.sample(position, values);
    }
    void progress(const Position& position) override {
      if (position.gradients == kAll) over = true;
      if (position.gradients != kAll - 1) return;
      nearly_over = true;
      comes_true([&] { return over.load(); });
    }
    void note(Severity, std::string_view) override {}
    void events(int worker, std::int64_t first, std::span<const Event> events) override {
      to.events(worker, first, events);
    }
    MemoryRecorder to;
    std::atomic<bool> nearly_over = false, over = false;
  } recorder;
  const auto objective = with(
      [&](int worker, std::int64_t) {
        if (worker == 0) return;
        comes_true([&] { return recorder.nearly_over.load(); });
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the thread looks more often
      },
      quadratic(run.task, 2, run.spec.seeds, 3));
  const Outcome recorded = run_threads({run.spec, *objective, recorder}, run.options);
  MemoryRecorder again;
  check_same_end(run.replay(script_of(recorder.to, 2), again), recorded);
  CHECK(recorder.to.last("consensus_distance") == again.last("consensus_distance"));
  CHECK(recorder.to.last("exchanges") == static_cast<double>(recorded.exchanges_drawn));
  CHECK(recorder.to.series("consensus_distance").size() ==
        again.series("consensus_distance").size());
}

// Hidden: `test_drivers "[stress]"`.
TEST_CASE("no evaluation is lost where consensus distances are sampled more often") {
  const auto evaluations = [](const char* algorithm, double consensus_every, bool on_threads) {
    test::Setup setup;
    setup.algorithm = algorithm;
    setup.workers = 2;
    setup.on_threads = on_threads;
    setup.spec.budget.gradients = 2 * 20;
    setup.spec.cadence.evaluate_every = 2;
    setup.spec.cadence.consensus_every = consensus_every;
    setup.run();
    return setup.recorder.series("eval_loss").size();
  };
  for (const double every : {0.3, 0.5, 0.9, 1.0, 1.3}) {
    INFO("a consensus distance every " << every);
    CHECK(evaluations("ar-sgd", every, false) == 11);
    CHECK(evaluations("d-psgd", every, false) == 11);
    CHECK(evaluations("ar-sgd", every, true) == 11);
    CHECK(evaluations("ad-psgd", every, false) >= 11);
  }
  test::Setup setup;
  setup.algorithm = "ar-sgd";
  setup.workers = 2;
  setup.spec.budget.gradients = 2 * 20;
  setup.spec.cadence.evaluate_every = 2;
  setup.spec.cadence.consensus_every = 0.3;
  test::run_as_processes(setup);
  CHECK(setup.recorder.series("eval_loss").size() == 11);
  // A slow worker's gradient goes on when all 40 could be over: one evaluation then, one at the
  // end.
  test::Setup slow;
  slow.workers = 2;
  slow.spec.budget.gradients = 2 * 20;
  slow.spec.cadence.evaluate_every = 2;
  slow.virtual_time.compute.slow_factors = {1, 2};
  slow.run();
  CHECK(slow.recorder.series("eval_loss").size() == 12);
}

TEST_CASE("threads: the last sample of 300 runs is the state after the last event", "[.][stress]") {
  check_ends(300);
}

TEST_CASE("the throttle holds at the moment a gradient begins, on threads and under mpi") {
  for (const int exchange_threads : {0, 1, 2})
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      Replayable run(
          {.workers = 8, .rate = 1, .gradients = 2000, .dimension = kLongVector, .seed = seed});
      run.spec.max_backlog = 2;
      run.options.exchange_threads = exchange_threads;
      MemoryRecorder recorder;
      const Outcome outcome = run.record(recorder);
      INFO(exchange_threads << " exchange threads, seed " << seed << ", " << outcome.holds
                            << " holds");
      CHECK(most_waiting(recorder, run.spec) <= 2 + 1);
    }
  for (const bool windows : {true, false}) {
    Replayable run({.workers = 4, .rate = 1, .gradients = 2000, .dimension = kLongVector});
    run.spec.max_backlog = 2;
    test::Processes processes{.spec = run.spec, .task = run.task, .windows = windows};
    MemoryRecorder recorder;
    processes.run(recorder);
    check_no_errors(processes);
    INFO("mpi, windows " << windows);
    CHECK(most_waiting(recorder, run.spec) <= 2 + 1);
  }
}
