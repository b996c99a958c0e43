#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "engine/base/clock.hpp"
#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/drivers/mpi/clock.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/waiting.hpp"

using namespace acid;
using test::check_replays;
using test::CheckpointFolder;
using test::comes_true;
using test::MemoryRecorder;
using test::Processes;
using test::Replayable;
using test::script;
using test::sum;
using test::waiting_for;

namespace {

/// The numbers of a worker's exchanges, in its order.
std::vector<std::uint64_t> exchanges_of(const MemoryRecorder& recorder, int worker) {
  std::vector<std::uint64_t> numbers;
  for (const Event& event : recorder.events_of(worker))
    if (event.kind == EventKind::apply || event.kind == EventKind::exchange)
      numbers.push_back(event.exchange);
  return numbers;
}

}  // namespace

TEST_CASE("mpi: asynchronous runs end on their budget and replay bit for bit") {
  for (const char* algorithm : {"ad-psgd", "a2cid2"})
    for (const auto& [workers, windows] :
         {std::pair{1, true}, {2, false}, {2, true}, {3, true}, {6, false}, {6, true}}) {
      INFO(algorithm << ", n = " << workers << (windows ? ", windows" : ", messages"));
      Replayable run({.algorithm = algorithm,
                      .workers = workers,
                      .rate = workers == 1 ? 0.0 : 1.5,
                      .gradients = 400 * workers});
      Processes processes{run.spec, run.task};
      processes.windows = windows;
      MemoryRecorder recorder;
      const Outcome outcome = processes.run(recorder);
      check_no_errors(processes);
      REQUIRE(outcome.ending == Ending::finished);
      CHECK(outcome.position.gradients == run.spec.budget.gradients);
      CHECK(sum(outcome.worker_gradients) == run.spec.budget.gradients);
      CHECK(outcome.exchanges_done == outcome.exchanges_drawn);
      CHECK(sum(outcome.staleness) == run.spec.budget.gradients);
      REQUIRE(outcome.worker_spans.size() == static_cast<std::size_t>(workers));
      for (const std::vector<Span>& spans : outcome.worker_spans) CHECK_FALSE(spans.empty());
      // Where one worker has no other to wait for, marks do not hold its clock back.
      double commits = 0, late = 0;
      for (const Event& event : recorder.events_of(0))
        if (workers == 1 && is_commit(event.kind) && event.time != ++commits) ++late;
      CHECK(late == 0);
      check_replays(run, recorder, outcome);
    }
}

TEST_CASE("CORRECTNESS 13: mpi executes a prefix of the list, in each worker's drawn order") {
  Replayable run({.workers = 4, .rate = 2, .gradients = 2000});
  const bool windows = GENERATE(false, true);
  Processes processes{run.spec, run.task};
  processes.windows = windows;
  MemoryRecorder recorder;
  const Outcome outcome = processes.run(recorder);
  check_no_errors(processes);
  std::vector<std::vector<std::uint64_t>> drawn(4);
  EdgeSchedule schedule(run.graph, run.spec.method.rate, run.spec.seeds);
  while (schedule.peek().due <= 500) {
    const DueEdge edge = schedule.pop();
    drawn[static_cast<std::size_t>(edge.i)].push_back(edge.number);
    drawn[static_cast<std::size_t>(edge.j)].push_back(edge.number);
  }
  for (int w = 0; w < 4; ++w)
    CHECK(exchanges_of(recorder, w) == drawn[static_cast<std::size_t>(w)]);
  // Exchanges run beside gradients: some worker commits between an offer and its apply.
  bool overlapped = false;
  for (int w = 0; w < 4; ++w) {
    bool in_flight = false;
    for (const Event& event : recorder.events_of(w)) {
      if (event.kind == EventKind::offer) in_flight = true;
      if (event.kind == EventKind::apply) in_flight = false;
      overlapped = overlapped || (in_flight && event.kind == EventKind::commit_and_begin);
    }
  }
  CHECK(overlapped != windows);  // with windows an exchange is one event
}

TEST_CASE("mpi: a slow worker does not slow the others, and the end waits for nobody's share") {
  Replayable run({.workers = 3, .rate = 0.2, .gradients = 600, .dimension = 1000});
  Processes processes{run.spec, run.task};
  processes.options.resize(3);
  processes.options[2].slow_factor = 10'000;  // times 20 µs: the others finish first
  MemoryRecorder recorder;
  const Outcome outcome = processes.run(recorder);
  check_no_errors(processes);
  CHECK(sum(outcome.worker_gradients) == 600);
  // The scheduler decides how the others share the gradients.
  const std::int64_t others = outcome.worker_gradients[0] + outcome.worker_gradients[1];
  CHECK(outcome.worker_gradients[2] * 2 * 3 < others);
  check_replays(run, recorder, outcome);
}

TEST_CASE("mpi: the last gradients are not left to workers that the throttle holds") {
  Replayable run({.algorithm = "ad-psgd", .workers = 4, .rate = 1, .gradients = 400});
  // Two pairs that hardly ever meet, of which one is held.
  run.graph =
      make_topology(4, {{"kind", "edges"}, {"edges", {{0, 1, 1.0}, {2, 3, 1.0}, {1, 2, 1e-9}}}});
  run.spec.cadence.consensus_every = run.spec.cadence.evaluate_every = 1e9;
  std::atomic<int> begun{0};
  bool in_time = false;
  Processes processes{run.spec, run.task};
  processes.windows = false;
  const auto hold = [](LocalCluster& cluster, bool holds) {
    for (const int rank : {2, 3}) cluster.hold_bodies(rank, holds);
  };
  processes.before = [&](LocalCluster& cluster) { hold(cluster, true); };
  processes.before_gradient = [&](int, std::int64_t) { ++begun; };
  processes.meanwhile = [&](LocalCluster& cluster) {
    const SteadyClock clock;
    const double until = clock.seconds() + 20;
    // As long as each held worker has a gradient left, the others begin at most 398 and one each.
    const auto are_committed = [&] { return begun.load() > 400; };
    while (!are_committed() && clock.seconds() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    in_time = are_committed();
    hold(cluster, false);
  };
  MemoryRecorder recorder;
  const Outcome outcome = processes.run(recorder);
  check_no_errors(processes);
  CHECK(in_time);
  CHECK(sum(outcome.worker_gradients) == 400);
  CHECK(outcome.worker_gradients[2] + outcome.worker_gradients[3] < 100);
  CHECK(outcome.holds > 0);
  check_replays(run, recorder, outcome);
}

TEST_CASE("mpi: an asynchronous run goes on from a cut, and all of it replays as one run") {
  Replayable run({.workers = 3, .rate = 2, .gradients = 3000, .dimension = 3'000});
  MemoryRecorder whole;
  CheckpointFolder folder(50);
  Processes processes{run.spec, run.task};
  processes.before_gradient = waiting_for(folder, 300, 2);
  const Outcome outcome = processes.run(whole, {&folder, nullptr});
  check_no_errors(processes);
  REQUIRE(folder.saved().size() >= 2);
  check_replays(run, whole, outcome);

  const auto& cut = folder.saved()[1];
  const CheckpointFile file(cut.path);
  MemoryRecorder rest;
  rest.events_may_start_late();
  CheckpointFolder later(1e9);
  const Outcome resumed = processes.run(rest, {&later, &file});
  check_no_errors(processes);
  CHECK(resumed.position.gradients == 3000);
  CHECK(resumed.exchanges_done == outcome.exchanges_done);

  // The records before and after the cut are one log.
  ReplayScript joined = script(whole, 3);
  for (int w = 0; w < 3; ++w) {
    auto& events = joined.workers[static_cast<std::size_t>(w)];
    int marks = 0;
    const auto end = std::find_if(events.begin(), events.end(), [&](const Event& event) {
      return event.kind == EventKind::checkpoint && ++marks == 2;
    });
    REQUIRE(end != events.end());
    events.erase(end + 1, events.end());
    const auto& more = rest.events_of(w);
    events.insert(events.end(), more.begin(), more.end());
  }
  MemoryRecorder again;
  const Outcome replayed = run.replay(joined, again);
  CHECK(replayed.worker_digests == resumed.worker_digests);
  CHECK(replayed.mean_digest == resumed.mean_digest);
}

TEST_CASE("mpi: a stop request in any process saves the state of all") {
  Replayable run({.workers = 3, .rate = 2, .gradients = 1'000'000'000});
  CheckpointFolder folder(1e9);
  Processes processes{run.spec, run.task};
  processes.asks_to_stop = 2;
  MemoryRecorder recorder;
  std::stop_source source;
  recorder.stop_after_samples(5, source);
  const Outcome outcome = processes.run(recorder, {&folder, nullptr}, source.get_token());
  check_no_errors(processes);
  CHECK(outcome.ending == Ending::stopped);
  REQUIRE(folder.saved().size() == 1);
  CHECK(folder.saved()[0].step == outcome.position.gradients);

  const CheckpointFile file(folder.saved()[0].path);
  for (const int more : {300, 0}) {
    run.spec.budget.gradients = outcome.position.gradients + more;
    MemoryRecorder rest;
    rest.events_may_start_late();
    const Outcome resumed = processes.run(rest, {nullptr, &file});
    check_no_errors(processes);
    CHECK(resumed.ending == Ending::finished);
    CHECK(sum(resumed.worker_gradients) == run.spec.budget.gradients);
  }
}

TEST_CASE("mpi: a target, a limit and divergence end an asynchronous run, and replay") {
  SECTION("target") {
    Replayable run({.workers = 3, .gradients = 1'000'000'000});
    run.task["noise"] = 0.0;
    run.spec.budget.target = Budget::Target{"consensus_distance", 1e9};
    Processes processes{run.spec, run.task};
    MemoryRecorder recorder;
    const Outcome outcome = processes.run(recorder);
    check_no_errors(processes);
    CHECK(outcome.ending == Ending::finished);
    CHECK(outcome.message.find("target reached") != std::string::npos);
    CHECK(outcome.position.gradients < 1'000'000'000);
    CHECK(sum(outcome.worker_gradients) == outcome.position.gradients);
  }
  SECTION("seconds") {
    Replayable run({.workers = 2, .gradients = 1'000'000'000});
    run.spec.budget.seconds = 0.3;
    Processes processes{run.spec, run.task};
    MemoryRecorder recorder;
    const Outcome outcome = processes.run(recorder);
    check_no_errors(processes);
    CHECK(outcome.ending == Ending::finished);
    check_replays(run, recorder, outcome);
  }
  SECTION("divergence") {
    Replayable run({.workers = 3, .gradients = 100'000});
    run.spec.schedule.learning_rate = 1e30;
    Processes processes{run.spec, run.task};
    MemoryRecorder recorder;
    const Outcome outcome = processes.run(recorder);
    check_no_errors(processes);
    CHECK(outcome.ending == Ending::diverged);
    MemoryRecorder again;
    const Outcome replayed = run.replay(script(recorder, 3), again);
    CHECK(replayed.ending == Ending::diverged);
    CHECK(replayed.message == outcome.message);
  }
}

TEST_CASE("mpi: a lost process ends the others, and nobody hangs") {
  for (const int victim : {0, 2}) {
    Replayable run({.workers = 3, .gradients = 1'000'000'000});
    Processes processes{run.spec, run.task};
    processes.meanwhile = [&](LocalCluster& cluster) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      cluster.kill(victim);
    };
    MemoryRecorder recorder;
    processes.run(recorder);
    for (const std::string& error : processes.errors)
      CHECK(error.find("lost") != std::string::npos);
  }
}

TEST_CASE("mpi: no vector travels for a sample of the start, which rank 0 knows") {
  const auto sent = [](double every) {
    Replayable run({.workers = 2, .rate = 1e-9, .gradients = 40, .dimension = 100});
    run.spec.cadence.consensus_every = run.spec.cadence.evaluate_every = every;
    Processes processes{run.spec, run.task};
    processes.windows = false;
    // Both workers have committed a gradient before the sample in the middle.
    std::array<std::atomic<std::int64_t>, 2> begun{};
    processes.before_gradient = [&begun](int worker, std::int64_t step) {
      const auto self = static_cast<std::size_t>(worker);
      ++begun[self];
      if (step == 2) comes_true([&] { return begun[1 - self] >= 2; });
    };
    MemoryRecorder recorder;
    const Outcome outcome = processes.run(recorder);
    check_no_errors(processes);
    check_replays(run, recorder, outcome);
    return processes.floats_sent[1];
  };
  const std::uint64_t at_the_end = sent(1e9);
  CHECK(sent(10) == at_the_end + 100);
  const Replayable run({.workers = 2});
  const auto objective = test::quadratic(run.task, 2, run.spec.seeds, 1);
  Ensemble ensemble(run.spec, *objective);
  std::uint64_t state = 0;
  ensemble.worker(1).for_each_vector(
      [&](std::string_view, std::span<float> vector) { state += vector.size(); });
  CHECK(at_the_end == state);
}

TEST_CASE("mpi: any number of gradients may lie between two samples", "[release]") {
  Replayable run({.workers = 2, .gradients = 40'000, .dimension = 2});
  run.spec.cadence.consensus_every = run.spec.cadence.evaluate_every = 1e9;
  CheckpointFolder folder(18'000);
  Processes processes{run.spec, run.task};
  processes.before_gradient = waiting_for(folder, 38'000, 1);
  MemoryRecorder recorder;
  const Outcome outcome = processes.run(recorder, {&folder, nullptr});
  check_no_errors(processes);
  CHECK(outcome.position.gradients == 40'000);
  REQUIRE_FALSE(folder.saved().empty());
  const CheckpointFile file(folder.saved()[0].path);
  MemoryRecorder rest;
  rest.events_may_start_late();
  CHECK(processes.run(rest, {nullptr, &file}).position.gradients == 40'000);
  check_no_errors(processes);
  check_replays(run, recorder, outcome);
}

TEST_CASE("mpi: a worker's clock never goes back and stops where it is told") {
  WorkerClock clock(4);
  clock.hear(10);
  CHECK(clock.count() == 0);  // its limit is not known yet
  clock.stop_at(WorkerClock::kFree);
  CHECK(clock.count() == 10);
  CHECK(clock.time() == 2.5);
  clock.hear(7);
  CHECK(clock.count() == 10);
  clock.stop_at(12);
  clock.hear(20);
  CHECK(clock.count() == 12);
  CHECK(clock.known() == 20);
  clock.freeze();
  clock.stop_at(WorkerClock::kFree);
  CHECK(clock.count() == 12);
  clock.lift(15);
  CHECK(clock.count() == 15);
  clock.thaw();
  CHECK(clock.count() == 20);
  clock.commit();
  CHECK(clock.count() == 21);
}

TEST_CASE("mpi: permits give out the budget exactly, and a slow worker little of it") {
  Permits permits(1000, {0, 0}, 0);
  std::int64_t committed[2] = {0, 0};
  double now = 0;
  for (int step = 0; step < 100'000 && committed[0] + committed[1] < 1000; ++step) {
    now += 0.01;
    for (int w = 0; w < 2; ++w)
      if (committed[w] < permits.granted(w) && (w == 0 || step % 100 == 0)) ++committed[w];
    for (int w = 0; w < 2; ++w) permits.grant(w, committed[w], now);
    CHECK(permits.granted(0) + permits.granted(1) <= 1000);
    CHECK(permits.granted(1) - committed[1] <= 2);
  }
  CHECK(committed[0] + committed[1] == 1000);
  CHECK(committed[0] > 900);
}
