// Asynchronous runs under the mpi driver that go on after the loss of a process.
#include <atomic>
#include <set>

#include "engine/base/error.hpp"
#include "engine/drivers/mpi/clock.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/waiting.hpp"

using namespace acid;
using test::check_replays;
using test::CheckpointFolder;
using test::MemoryRecorder;
using test::Processes;
using test::Replayable;
using test::script;
using test::sum;

namespace {

bool log_ends_lost(const MemoryRecorder& recorder, int worker) {
  const auto& events = recorder.events_of(worker);
  return !events.empty() && events.back().kind == EventKind::lost;
}

/// Checks that only processes of `victims` failed, and that the run ended normally without them.
void check_went_on(Replayable& run, const Processes& processes, const MemoryRecorder& recorder,
                   const Outcome& outcome, const std::set<int>& victims) {
  REQUIRE(processes.errors[0] == "");
  REQUIRE(outcome.ending == Ending::finished);
  REQUIRE(outcome.worker_digests.size() == static_cast<std::size_t>(run.spec.workers));
  for (int rank = 0; rank < run.spec.workers; ++rank) {
    INFO("rank " << rank);
    if (!victims.contains(rank)) {
      CHECK(processes.errors[static_cast<std::size_t>(rank)] == "");
      CHECK(outcome.worker_digests[static_cast<std::size_t>(rank)].size() == 64);
    }
    CHECK((outcome.worker_digests[static_cast<std::size_t>(rank)] == "") ==
          log_ends_lost(recorder, rank));
  }
  CHECK(outcome.position.gradients == run.spec.budget.gradients);
  CHECK(sum(outcome.worker_gradients) == run.spec.budget.gradients);
  check_replays(run, recorder, outcome);
}

// Some of its messages do not fit.
const nlohmann::json kCoarse = {
    {"kind", "lattice"}, {"bits", 8}, {"spacing", 0.002}, {"error_feedback", false}};

}  // namespace

TEST_CASE("mpi: any message of a process may be its last, the run goes on and replays") {
  const char* algorithm = GENERATE("ad-psgd", "a2cid2");
  const bool coarse = GENERATE(false, true);
  int lost = 0;
  for (int messages = 0; messages < 60; messages += 1 + messages / 12) {
    INFO(algorithm << (coarse ? " on a lattice" : "") << ", killed after " << messages
                   << " messages");
    Replayable run({.algorithm = algorithm,
                    .workers = 4,
                    .rate = 2,
                    .gradients = 400,
                    .codec = coarse ? kCoarse : nlohmann::json()});
    run.spec.cadence.workers = WorkerEvaluation::always;
    Processes processes{run.spec, run.task};
    processes.goes_on = true;
    const int victim = 1 + messages % 3;
    processes.before = [&](LocalCluster& cluster) { cluster.kill_after(victim, messages); };
    MemoryRecorder recorder;
    const Outcome outcome = processes.run(recorder);
    check_went_on(run, processes, recorder, outcome, {victim});
    lost += log_ends_lost(recorder, victim) ? 1 : 0;
  }
  CHECK(lost > 10);
}

TEST_CASE("mpi: a process may be lost while a checkpoint is taken, and none is taken after it") {
  int saved = 0;
  for (int messages = 40; messages < 400; messages += 24) {
    INFO("killed after " << messages << " messages");
    Replayable run({.workers = 3, .rate = 2, .gradients = 300});
    Processes processes{run.spec, run.task};
    processes.goes_on = true;
    processes.before = [&](LocalCluster& cluster) { cluster.kill_after(2, messages); };
    CheckpointFolder folder(5);
    processes.before_gradient = [&](int worker, std::int64_t step) {
      if (worker != 2 && step == 40)
        test::comes_true([&] { return folder.count() > 0 || processes.lost.load() > 0; });
    };
    MemoryRecorder recorder;
    const Outcome outcome = processes.run(recorder, {&folder, nullptr});
    check_went_on(run, processes, recorder, outcome, {2});
    for (const CheckpointFolder::Saved& one : folder.saved()) {
      ++saved;
      const auto marks = [&](int worker) {
        std::int64_t count = 0;
        for (const Event& event : recorder.events_of(worker))
          if (event.kind == EventKind::checkpoint && event.time == one.position.normalised_time)
            ++count;
        return count;
      };
      CHECK(marks(2) == 1);  // the lost worker is in it
    }
    if (folder.saved().empty()) continue;
    const CheckpointFile file(folder.saved().back().path);
    MemoryRecorder rest;
    rest.events_may_start_late();
    processes.before = {};
    processes.before_gradient = {};
    const Outcome resumed = processes.run(rest, {nullptr, &file});
    check_no_errors(processes);
    CHECK(sum(resumed.worker_gradients) == 300);
  }
  CHECK(saved > 0);
}

TEST_CASE("mpi: processes may be lost at any moment, all but rank 0") {
  for (int repetition = 0; repetition < 8; ++repetition) {
    Replayable run({.algorithm = repetition % 2 == 0 ? "ad-psgd" : "a2cid2",
                    .workers = 5,
                    .rate = 2,
                    .gradients = 4'000,
                    .codec = repetition < 4 ? nlohmann::json() : kCoarse});
    Processes processes{run.spec, run.task};
    processes.goes_on = true;
    std::atomic<LocalCluster*> cluster{nullptr};
    // Killed by its own thread, at a gradient of its own.
    processes.meanwhile = [&](LocalCluster& all) { cluster.store(&all); };
    const int victims = 1 + repetition % 4;
    processes.before_gradient = [&](int worker, std::int64_t step) {
      if (worker == 0 || worker > victims || step != 40 + 37 * worker * (1 + repetition)) return;
      if (test::comes_true([&] { return cluster.load() != nullptr; })) cluster.load()->kill(worker);
    };
    MemoryRecorder recorder;
    const Outcome outcome = processes.run(recorder);
    check_went_on(run, processes, recorder, outcome, {1, 2, 3, 4});
  }
}

TEST_CASE("mpi: what is stopped after a loss goes on from the checkpoint before it") {
  Replayable run({.workers = 3, .rate = 2, .gradients = 1'000'000'000});
  Processes processes{run.spec, run.task};
  processes.goes_on = true;
  processes.before = [](LocalCluster& cluster) { cluster.kill_after(1, 40); };
  std::stop_source source;
  MemoryRecorder recorder;
  processes.meanwhile = [&](LocalCluster&) {
    CHECK(test::comes_true([&] { return processes.lost.load() > 0; }));
    source.request_stop();
  };
  CheckpointFolder folder(1e9);
  const Outcome outcome = processes.run(recorder, {&folder, nullptr}, source.get_token());
  CHECK(processes.errors[0] == "");
  CHECK(processes.errors[2] == "");
  CHECK(outcome.ending == Ending::stopped);
  CHECK(folder.saved().empty());
}

TEST_CASE("a log whose lost worker lacks what others depend on cannot be replayed") {
  Replayable run({.workers = 3, .rate = 2, .gradients = 600});
  Processes processes{run.spec, run.task};
  processes.goes_on = true;
  processes.before = [](LocalCluster& cluster) { cluster.kill_after(2, 60); };
  MemoryRecorder recorder;
  const Outcome outcome = processes.run(recorder);
  REQUIRE(log_ends_lost(recorder, 2));
  const ReplayScript whole = script(recorder, 3);
  const auto refused = [&](const ReplayScript& altered) {
    MemoryRecorder again;
    CHECK_THROWS_AS(run.replay(altered, again), BrokenScript);
  };
  ReplayScript shorter = whole;
  auto& events = shorter.workers[2];
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(events.size() / 2), events.end() - 1);
  refused(shorter);
  ReplayScript not_lost = whole;
  not_lost.workers[2].pop_back();
  refused(not_lost);
  ReplayScript more_missed = whole;
  more_missed.workers[2].back().exchange = kExchangeMask;
  refused(more_missed);
  ReplayScript in_the_middle = whole;
  std::swap(in_the_middle.workers[2].back(), in_the_middle.workers[2].end()[-2]);
  refused(in_the_middle);
  ReplayScript rank_zero = whole;
  rank_zero.workers[0].push_back(whole.workers[2].back());
  rank_zero.workers[0].back().time = whole.workers[0].back().time;
  refused(rank_zero);
}

TEST_CASE("mpi: what a lost worker was given is given to others") {
  Permits permits(100, {0, 0}, 0);
  const std::int64_t granted = permits.grant(1, 0, 0);
  REQUIRE(granted > 0);
  permits.take_back(1, 0);
  std::int64_t committed = 0;
  for (int step = 1; step < 1000 && committed < 100; ++step)
    committed = permits.grant(0, committed, step);
  CHECK(committed == 100);
}
