// Synchronous methods under mpi do what they do on threads, bit for bit.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include "engine/drivers/mpi/thread_seconds.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/drivers/replay_fixture.hpp"

using namespace acid;
using test::CheckpointFolder;
using test::MemoryRecorder;
using test::Processes;
using test::Replayable;

namespace {

struct Case {
  const char* name;
  const char* algorithm;
  const char* round = nullptr;  // the method's own
};

constexpr Case kCases[] = {
    {"ar-sgd", "ar-sgd"},
    {"d-psgd", "d-psgd"},
    {"d-psgd, adapt then combine", "d-psgd", test::kAdaptThenCombine},
};

Replayable synchronous(const Case& one, int workers, std::int64_t gradients, int dimension = 20) {
  Replayable run({.algorithm = one.algorithm,
                  .workers = workers,
                  .rate = 1,
                  .gradients = gradients,
                  .dimension = dimension});
  if (one.round != nullptr) run.spec.method.round = Round(one.round);
  run.task["heterogeneity"] = 1.0;
  run.task["initial_spread"] = 1.0;
  run.spec.cadence.consensus_every = 3;
  run.spec.cadence.evaluate_every = 7;
  return run;
}

// A run is moved, its topology with it.
Processes processes_of(Replayable& run) {
  run.spec.topology = &run.graph;
  return {run.spec, run.task};
}

void check_same_run(const MemoryRecorder& a, const Outcome& x, const MemoryRecorder& b,
                    const Outcome& y, int workers) {
  test::check_same_end(x, y);
  CHECK(test::difference(a, b, workers) == "");
  CHECK(test::other_series(a, b) == "");
}

/// Hands its gradient over in pieces, last one first, and fails at one step of one worker.
class InPieces final : public test::Forwarding {
 public:
  InPieces(const Replayable& run, int lanes)
      : Forwarding(test::quadratic(run.task, run.spec.workers, run.spec.seeds, lanes)) {}
  int worker = -1;
  std::int64_t step = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();  // at that step
  bool throws = false;                                     // instead of the loss
  double work_seconds = 0;                                 // of processor time, in every gradient

  double gradient(int lane, int w, std::int64_t s, std::span<const float> x, std::span<float> b,
                  std::span<float> g) override {
    if (throws && w == worker && s == step) throw std::runtime_error("no gradient");
    const double found = Forwarding::gradient(lane, w, s, x, b, g);
    const double until = thread_seconds() + work_seconds;
    while (work_seconds > 0 && thread_seconds() < until) continue;
    return w == worker && s == step ? loss : found;
  }
  double gradient_in_parts(int lane, int w, std::int64_t s, std::span<const float> x,
                           std::span<float> b, std::span<float> g,
                           const GradientReady& ready) override {
    const double found = gradient(lane, w, s, x, b, g);
    const std::size_t d = g.size();
    if (ready) {
      ready(d - d / 3, d);
      ready(d / 2, d - d / 3);
      if (s % 2 == 0) ready(d / 5, d / 2);
    }
    return found;
  }
};

double shortest(const Outcome& outcome, std::size_t worker, SpanKind kind) {
  double seconds = std::numeric_limits<double>::infinity();
  for (const Span& span : outcome.worker_spans.at(worker))
    if (span.kind == kind) seconds = std::min(seconds, span.end - span.begin);
  return seconds;
}

}  // namespace

TEST_CASE("mpi: synchronous methods have the bits of threads and of virtual time") {
  for (const Case& one : kCases)
    for (const int workers : {1, 2, 3, 7})
      for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam}) {
        INFO(one.name << ", n = " << workers << ", optimizer " << static_cast<int>(kind));
        Replayable run = synchronous(one, workers, 40 * workers + 1, workers == 7 ? 5 : 20);
        run.spec.optimizer.kind = kind;
        Processes processes = processes_of(run);
        MemoryRecorder mpi, threads, simulated;
        const Outcome outcome = processes.run(mpi);
        check_no_errors(processes);
        check_same_run(mpi, outcome, threads, run.record(threads), workers);
        CHECK(outcome.position.gradients == 41 * workers);
        const auto objective = test::quadratic(run.task, workers, run.spec.seeds, 1);
        const Outcome again = run_virtual({run.spec, *objective, simulated}, {});
        CHECK(again.worker_digests == outcome.worker_digests);
        CHECK(test::other_series(mpi, simulated) == "");
      }
}

TEST_CASE("mpi: gradients of several buckets, handed over while they are computed") {
  Replayable run = synchronous(kCases[0], 3, 9, 300'001);
  run.task["noise"] = run.task["initial_spread"] = 0.0;
  Processes processes = processes_of(run);
  processes.objective = [&](int) { return std::make_unique<InPieces>(run, 2); };
  MemoryRecorder mpi, threads;
  const Outcome outcome = processes.run(mpi);
  check_no_errors(processes);
  check_same_run(mpi, outcome, threads, run.record(threads), 3);
}

TEST_CASE("mpi: a synchronous run goes on from a cut of its own and from one of threads") {
  for (const Case& one : kCases) {
    INFO(one.name);
    Replayable run = synchronous(one, 3, 120);
    Processes processes = processes_of(run);
    MemoryRecorder whole_recorder, threads_recorder;
    CheckpointFolder own(11), of_threads(11);
    const Outcome whole = processes.run(whole_recorder, {&own, nullptr});
    check_no_errors(processes);
    check_same_run(whole_recorder, whole, threads_recorder,
                   run.record(threads_recorder, {&of_threads, nullptr}), 3);
    REQUIRE(own.saved().size() == 3);
    REQUIRE(of_threads.saved().size() == 3);
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(own.saved()[k].step == of_threads.saved()[k].step);
      CHECK(own.saved()[k].digests == of_threads.saved()[k].digests);
      for (const auto* folder : {&own, &of_threads}) {
        const CheckpointFile from(folder->saved()[k].path);
        MemoryRecorder recorder;
        recorder.events_may_start_late();
        const Outcome resumed = processes.run(recorder, {nullptr, &from});
        check_no_errors(processes);
        test::check_same_end(resumed, whole);
        CHECK(recorder.last("train_loss") == whole_recorder.last("train_loss"));
        MemoryRecorder rest;
        rest.events_may_start_late();
        run.record(rest, {nullptr, &from});
        CHECK(test::difference(recorder, rest, 3) == "");
        CHECK(test::other_series(recorder, rest) == "");
      }
    }
  }
}

TEST_CASE("mpi: a stop request in any process leaves a cut to go on from") {
  for (const Case& one : kCases) {
    INFO(one.name);
    Replayable run = synchronous(one, 3, 1'000'000'000);
    run.spec.end_at_gradients = 3000;
    run.spec.cadence.consensus_every = 50;
    run.spec.cadence.evaluate_every = 100;
    Processes processes = processes_of(run);
    processes.asks_to_stop = 2;
    CheckpointFolder folder(1e9);
    MemoryRecorder first, rest, threads;
    std::stop_source source;
    first.stop_after_samples(3, source);
    const Outcome outcome = processes.run(first, {&folder, nullptr}, source.get_token());
    check_no_errors(processes);
    CHECK(outcome.ending == Ending::stopped);
    REQUIRE(folder.saved().size() == 1);
    CHECK(folder.saved()[0].step * 3 == outcome.position.gradients);
    CHECK(outcome.position.gradients < 3000);

    const CheckpointFile from(folder.saved()[0].path);
    rest.events_may_start_late();
    const Outcome resumed = processes.run(rest, {nullptr, &from});
    check_no_errors(processes);
    test::check_same_end(resumed, run.record(threads));
    CHECK(rest.last("train_loss") == threads.last("train_loss"));
  }
}

TEST_CASE("mpi: limits and targets end a synchronous run between two rounds") {
  for (const Case& one : kCases)
    for (const char* limit : {"seconds", "bytes", "target"}) {
      INFO(one.name << ", " << limit);
      Replayable run = synchronous(one, 3, 1'000'000'000);
      Budget& budget = run.spec.budget;
      if (limit[0] == 's') budget.seconds = 0.2;
      if (limit[0] == 'b') budget.bytes = 20'000;
      if (limit[0] == 't') budget.target = Budget::Target{"consensus_distance", 1e9};
      Processes processes = processes_of(run);
      MemoryRecorder recorder, again;
      const Outcome outcome = processes.run(recorder);
      check_no_errors(processes);
      CHECK(outcome.ending == Ending::finished);
      CHECK(outcome.message.empty() == !budget.target.has_value());
      CHECK(outcome.position.seconds < 30);
      // Repeated, it ends there because it is told to.
      budget.seconds = budget.bytes = kNever;
      budget.target.reset();
      run.spec.end_at_gradients = outcome.position.gradients;
      Outcome told = run.record(again);
      told.message = outcome.message;
      check_same_run(recorder, outcome, again, told, 3);
    }
}

TEST_CASE("mpi: a loss that is not finite is told as threads tell it") {
  for (const Case& one : kCases)
    for (const int where : {0, 2})
      for (const double every : {1.0, 50.0}) {
        INFO(one.name << ", worker " << where << ", sampled every " << every);
        Replayable run = synchronous(one, 3, 1'000'000'000);
        run.spec.cadence.consensus_every = every;
        Processes processes = processes_of(run);
        const auto objective = [&](int) {
          auto made = std::make_unique<InPieces>(run, 4);
          made->worker = where;
          made->step = 40;
          return made;
        };
        processes.objective = objective;
        MemoryRecorder mpi, threads;
        const Outcome outcome = processes.run(mpi);
        check_no_errors(processes);
        const auto again = objective(0);
        const Outcome told = run_threads({run.spec, *again, threads}, {});
        CHECK(outcome.ending == Ending::diverged);
        CHECK(outcome.message == told.message);
        CHECK(outcome.position.gradients == told.position.gradients);
        CHECK(outcome.position.bytes == told.position.bytes);
        const auto& a = mpi.series("train_loss");
        const auto& b = threads.series("train_loss");
        REQUIRE(a.size() == b.size());
        CHECK(test::same_points(a.begin(), a.end() - 1, b.begin(), b.end() - 1));
        CHECK(std::isnan(a.back().value));
        CHECK(std::isnan(b.back().value));
      }
}

TEST_CASE("mpi: parameters that run away end a synchronous run") {
  for (const Case& one : kCases) {
    INFO(one.name);
    Replayable run = synchronous(one, 3, 1'000'000'000);
    run.spec.schedule.learning_rate = 1e30;
    Processes processes = processes_of(run);
    MemoryRecorder recorder;
    const Outcome outcome = processes.run(recorder);
    check_no_errors(processes);
    CHECK(outcome.ending == Ending::diverged);
    CHECK_THAT(outcome.message, ContainsSubstring("finite"));
  }
}

TEST_CASE("mpi: a lost process ends every synchronous one, and nobody hangs") {
  for (const Case& one : kCases)
    for (const int victim : {0, 2}) {
      INFO(one.name << ", worker " << victim);
      Replayable run = synchronous(one, 3, 1'000'000'000);
      Processes processes = processes_of(run);
      processes.meanwhile = [&](LocalCluster& cluster) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        cluster.kill(victim);
      };
      MemoryRecorder recorder;
      processes.run(recorder);
      for (const std::string& error : processes.errors)
        CHECK_THAT(error, ContainsSubstring("worker " + std::to_string(victim)) &&
                              ContainsSubstring("lost"));
    }
}

TEST_CASE("mpi: a failing gradient ends its process with its message, the others with its loss") {
  for (const Case& one : kCases) {
    INFO(one.name);
    Replayable run = synchronous(one, 3, 1'000'000'000);
    Processes processes = processes_of(run);
    processes.objective = [&](int) {
      auto made = std::make_unique<InPieces>(run, 2);
      made->worker = 1;
      made->step = 20;
      made->throws = true;
      return made;
    };
    MemoryRecorder recorder;
    processes.run(recorder);
    CHECK(processes.errors[1] == "no gradient");
    CHECK_THAT(processes.errors[0], ContainsSubstring("lost"));
    CHECK_THAT(processes.errors[2], ContainsSubstring("lost"));
  }
}

TEST_CASE("mpi: what a process sees before its part of a cut or of the end is given ends the run") {
  for (const Case& one : kCases) {
    INFO(one.name);
    Replayable run = synchronous(one, 3, 300);
    Processes processes = processes_of(run);
    processes.look_first = [](int rank) {
      if (rank == 1) throw Error("data.npy changed while the run was under way");
    };
    MemoryRecorder recorder;
    processes.run(recorder);
    CHECK_THAT(processes.errors[1], ContainsSubstring("data.npy changed"));
    CHECK_THAT(processes.errors[0], ContainsSubstring("lost"));
  }
}

TEST_CASE("mpi: waiting for a slow process is idle time, and changes no bit") {
  for (const Case& one : kCases) {
    INFO(one.name);
    Replayable run = synchronous(one, 3, 30);
    Processes processes = processes_of(run);
    processes.objective = [&](int) {
      auto made = std::make_unique<InPieces>(run, 2);
      made->work_seconds = 2e-3;
      return made;
    };
    processes.options.resize(3);
    processes.options[1].slow_factor = 26;
    // If another process did not get a core for a while, the slow one waited for it: try again.
    bool others_waited = false;
    for (int tries = 0; tries < 10 && !others_waited; ++tries) {
      MemoryRecorder recorder, threads;
      const Outcome outcome = processes.run(recorder);
      check_no_errors(processes);
      check_same_run(recorder, outcome, threads, run.record(threads), 3);
      CHECK(outcome.position.seconds >= 10 * 25 * 2e-3);  // sleep of the slow one in ten rounds
      CHECK(shortest(outcome, 1, SpanKind::compute) >= 25 * 2e-3);
      const std::vector<double>& idle = outcome.worker_idle_seconds;
      REQUIRE(idle.size() == 3);
      others_waited = idle[1] < idle[0] && idle[1] < idle[2] &&
                      shortest(outcome, 0, SpanKind::compute) < 25 * 2e-3;
    }
    CHECK(others_waited);
  }
}
