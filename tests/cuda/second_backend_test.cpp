// The engine uses the memory of workers only as the contract of Backend allows, so that any backend
// gives the same run.
#include "tests/catch.hpp"
#include "tests/cuda/strict_backend.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/drivers/replay_fixture.hpp"

using namespace acid;
using test::CheckpointFolder;
using test::MemoryRecorder;
using test::Processes;
using test::Replayable;
using test::Setup;
using test::strict_backend;

namespace {

/// Checks that every kernel got memory that a device could reach, and that all memory was released.
void check_strict(std::int64_t calls_before) {
  CHECK(strict_backend().complaint() == "");
  CHECK(strict_backend().calls() > calls_before);
  CHECK(strict_backend().allocated() == 0);
}

struct Result {
  Outcome outcome;
  std::vector<double> consensus;
  std::vector<Event> events;
};

Result run_virtually(const std::string& algorithm, double latency, const Backend& backend,
                     int dimension = 37, int gradients = 300, bool keep_events = true) {
  Setup setup;
  setup.workers = 5;
  setup.algorithm = algorithm;
  setup.task = {{"dimension", dimension}, {"noise", 0.5}, {"initial_spread", 1.0}};
  setup.spec.backend = &backend;
  setup.spec.optimizer.momentum = 0.9;
  setup.spec.budget.gradients = gradients;
  setup.spec.keep_events = keep_events;
  setup.virtual_time.network.link.latency_seconds = latency;
  Result result;
  result.outcome = setup.run();
  for (const auto& point : setup.recorder.series("consensus_distance"))
    result.consensus.push_back(point.value);
  for (int w = 0; keep_events && w < setup.workers; ++w)
    for (const Event& event : setup.recorder.events_of(w)) result.events.push_back(event);
  return result;
}

void check_same(const Outcome& a, const Outcome& b) {
  CHECK(a.worker_digests == b.worker_digests);
  CHECK(a.mean_digest == b.mean_digest);
  CHECK(a.exchanges_done == b.exchanges_done);
}

}  // namespace

TEST_CASE("where no events are kept, a second backend takes the distances itself") {
  const std::int64_t calls = strict_backend().calls();
  const int dimension = GENERATE(37, 150'000);
  const Result here = run_virtually("a2cid2", 0.1, cpu_backend(), dimension, 60, false),
               there = run_virtually("a2cid2", 0.1, strict_backend(), dimension, 60, false);
  check_same(there.outcome, here.outcome);
  CHECK(here.consensus.size() > 5);
  CHECK(there.consensus == here.consensus);
  check_strict(calls);
}

TEST_CASE("a virtual run has the same bits, samples and events with a second backend") {
  const auto [algorithm, latency] = GENERATE(table<std::string, double>(
      {{"ad-psgd", 0.0}, {"a2cid2", 0.0}, {"a2cid2", 0.3}, {"ar-sgd", 0.0}, {"d-psgd", 0.0}}));
  INFO(algorithm << ", latency " << latency);
  const std::int64_t calls = strict_backend().calls();
  const Result there = run_virtually(algorithm, latency, strict_backend());
  check_strict(calls);
  CHECK(strict_backend().gathered() > 0);
  const Result here = run_virtually(algorithm, latency, cpu_backend());
  check_same(there.outcome, here.outcome);
  CHECK(there.consensus == here.consensus);
  REQUIRE(there.events.size() == here.events.size());
  for (std::size_t k = 0; k < here.events.size(); ++k) {
    CHECK(there.events[k].fingerprint == here.events[k].fingerprint);
    CHECK(there.events[k].kind == here.events[k].kind);
  }
}

TEST_CASE("vectors of a second backend are measured in pieces, with exchanges in flight") {
  constexpr int kDimension = 300'001;  // more than one piece
  const Result there = run_virtually("a2cid2", 0.3, strict_backend(), kDimension, 15);
  const Result here = run_virtually("a2cid2", 0.3, cpu_backend(), kDimension, 15);
  check_same(there.outcome, here.outcome);
  CHECK(there.consensus == here.consensus);
}

TEST_CASE("synchronous runs on threads have the same bits with a second backend") {
  const std::string algorithm = GENERATE("ar-sgd", "d-psgd");
  const auto run_on = [&](const Backend& backend) {
    Setup setup;
    setup.workers = 3;
    setup.algorithm = algorithm;
    setup.on_threads = true;
    setup.task = {{"dimension", 70}, {"noise", 0.5}};
    setup.spec.backend = &backend;
    setup.spec.budget.gradients = 90;
    return setup.run();
  };
  const std::int64_t calls = strict_backend().calls();
  const Outcome there = run_on(strict_backend());
  check_strict(calls);
  check_same(there, run_on(cpu_backend()));
}

TEST_CASE("a run on threads with a second backend replays on the first, and the other way round") {
  const std::int64_t calls = strict_backend().calls();
  for (const bool recorded_there : {true, false}) {
    Replayable run({.workers = 3, .rate = 2, .gradients = 600});
    run.spec.backend =
        recorded_there ? &static_cast<const Backend&>(strict_backend()) : &cpu_backend();
    MemoryRecorder recorder, again;
    const Outcome recorded = run.record(recorder);
    run.spec.backend =
        recorded_there ? &cpu_backend() : &static_cast<const Backend&>(strict_backend());
    const Outcome replayed = run.replay(test::script_of(recorder, 3), again);
    test::check_same_end(replayed, recorded);
    CHECK(test::difference(again, recorder, 3) == "");
  }
  check_strict(calls);
}

TEST_CASE("mpi: without a link, vectors of a second backend go through memory of the host") {
  const std::int64_t calls = strict_backend().calls();
  for (const char* algorithm : {"a2cid2", "ad-psgd"}) {
    Replayable run({.algorithm = algorithm, .workers = 3, .rate = 1.5, .gradients = 600});
    run.spec.backend = &strict_backend();
    Processes processes{run.spec, run.task};  // with windows, which must not be used
    MemoryRecorder recorder, again;
    const Outcome recorded = processes.run(recorder);
    check_no_errors(processes);
    REQUIRE(recorded.ending == Ending::finished);
    run.spec.backend = &cpu_backend();
    ReplayScript script = test::script_of(recorder, 3);
    script.shared_clock = false;
    test::check_same_end(run.replay(script, again), recorded);
  }
  check_strict(calls);
}

TEST_CASE("mpi: synchronous runs have the same bits with a second backend") {
  const std::int64_t calls = strict_backend().calls();
  for (const char* algorithm : {"ar-sgd", "d-psgd"}) {
    Replayable run({.algorithm = algorithm, .workers = 3, .rate = 1, .gradients = 90});
    MemoryRecorder on_threads, by_processes;
    const Outcome threads = run.record(on_threads);
    run.spec.backend = &strict_backend();
    Processes processes{run.spec, run.task};
    check_same(processes.run(by_processes), threads);
    check_no_errors(processes);
  }
  check_strict(calls);
}

TEST_CASE("mpi: a run goes on from a cut with a second backend, and ends with the same bits") {
  const std::int64_t calls = strict_backend().calls();
  Replayable run({.algorithm = "d-psgd", .workers = 3, .rate = 1, .gradients = 90});
  run.spec.optimizer.momentum = 0.9;
  Processes processes{run.spec, run.task};
  MemoryRecorder recorder, rest;
  CheckpointFolder folder(11);
  const Outcome whole = processes.run(recorder, {&folder, nullptr});
  check_no_errors(processes);
  REQUIRE(!folder.saved().empty());
  const CheckpointFile cut(folder.saved().front().path);
  run.spec.backend = &strict_backend();
  rest.events_may_start_late();
  const Outcome resumed = processes.run(rest, {nullptr, &cut});
  check_no_errors(processes);
  test::check_same_end(resumed, whole);
  check_strict(calls);
}
