#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/waiting.hpp"

using namespace acid;
using test::comes_true;
using test::Setup;

namespace {

// One optimum for all: on an overloaded machine a thread may compute hundreds of these tiny
// gradients while the others wait for a core, and would pull the mean towards its own data.
void noisy(Setup& setup, const char* algorithm) {
  setup.on_threads = true;
  setup.algorithm = algorithm;
  setup.task = {{"dimension", 200}, {"noise", 0.5}};
  setup.spec.schedule.learning_rate = 0.05;
  setup.spec.optimizer.momentum = 0.5;
  setup.spec.budget.gradients = 4000;
  setup.spec.cadence.evaluate_every = 100;
  setup.spec.cadence.consensus_every = 20;
}

/// A run of defaults that only a failure ends.
RunSpec endless(const char* algorithm, const Topology& graph) {
  RunSpec spec;
  spec.workers = graph.workers();
  spec.topology = &graph;
  const AlgorithmEntry* entry = find_algorithm(algorithm);
  spec.method = entry->make(with_fallbacks(entry->fields, nlohmann::json::object()), nullptr);
  spec.budget.gradients = 1'000'000'000;
  return spec;
}

}  // namespace

TEST_CASE("CORRECTNESS 13: threads execute a prefix of the list, in each worker's drawn order") {
  for (const int exchange_threads : {0, 2}) {
    Setup setup;
    noisy(setup, "a2cid2");
    setup.options = {{"communication_rate", 2.0}};
    setup.spec.keep_events = true;
    setup.threads.exchange_threads = exchange_threads;
    const Outcome outcome = setup.run();
    const Topology ring = make_topology(8, {{"kind", "ring"}});
    EdgeSchedule list(ring, 2.0, Seeds(1));
    std::vector<std::vector<std::uint64_t>> expected(8);
    std::int64_t drawn = 0;
    while (list.peek().due <= 4000.0 / 8) {
      const DueEdge due = list.pop();
      ++drawn;
      expected[static_cast<std::size_t>(due.i)].push_back(due.number);
      expected[static_cast<std::size_t>(due.j)].push_back(due.number);
    }
    CHECK(outcome.exchanges_drawn == drawn);
    CHECK(outcome.exchanges_done == drawn);
    for (std::size_t w = 0; w < 8; ++w) {
      std::vector<std::uint64_t> order;
      double last = 0;
      std::int64_t begun = 0, committed = 0;
      for (const Event& event : setup.recorder.events_of(static_cast<int>(w))) {
        CHECK(event.time >= last);
        last = event.time;
        if (event.kind == EventKind::exchange) order.push_back(event.exchange);
        const bool both = event.kind == EventKind::commit_and_begin;
        begun += both || event.kind == EventKind::begin_gradient;
        committed += both || event.kind == EventKind::commit_gradient;
      }
      CHECK(order == expected[w]);
      CHECK(committed == outcome.worker_gradients[w]);
      CHECK((begun == committed || begun == committed + 1));  // one in flight at the end
    }
  }
}

TEST_CASE("threads: exchanges happen while gradients are in flight") {
  Setup setup;
  noisy(setup, "ad-psgd");
  setup.options = {{"communication_rate", 4.0}};
  // One gradient of worker 0 lasts until the others have begun many.
  std::atomic<int> others = 0;
  setup.before_gradient = [&](int worker, std::int64_t step) {
    if (worker != 0) ++others;
    if (worker != 0 || step != 3) return;
    const int before = others;
    comes_true([&] { return others >= before + 400; });
  };
  setup.run();
  double most = 0;
  for (const auto& point : setup.recorder.series("staleness")) most = std::max(most, point.value);
  CHECK(most > 0);
}

TEST_CASE("threads: a slow worker does not slow the others") {
  Setup setup;
  noisy(setup, "ad-psgd");
  setup.workers = 4;
  setup.task["dimension"] = 2000;  // long enough to be slowed by sleeping
  setup.spec.budget.gradients = 1500;
  setup.spec.cadence.evaluate_every = kNever;
  setup.threads.slow_factors = {1000, 1, 1, 1};
  const Outcome outcome = setup.run();
  // The scheduler decides how the others share the gradients.
  const std::int64_t slow = outcome.worker_gradients[0];
  CHECK(outcome.position.gradients - slow > 2 * 3 * slow);
}

TEST_CASE("threads: limits and divergence end a run") {
  for (const char* algorithm : {"ar-sgd", "d-psgd", "ad-psgd"}) {
    INFO(algorithm);
    Setup timed;
    noisy(timed, algorithm);
    timed.spec.budget.gradients = 1'000'000'000;
    timed.spec.budget.seconds = 0.3;
    const Outcome outcome = timed.run();
    CHECK(outcome.ending == Ending::finished);
    CHECK(outcome.position.seconds < 30);

    Setup wild;
    noisy(wild, algorithm);
    wild.spec.schedule.learning_rate = 100;
    const Outcome diverged = wild.run();
    CHECK(diverged.ending == Ending::diverged);
    // A gradient or a measurement sees it first.
    CHECK_THAT(diverged.message, ContainsSubstring("finite loss"));

    Setup aimed;
    noisy(aimed, algorithm);
    aimed.spec.budget.gradients = 1'000'000'000;
    aimed.spec.budget.target = Budget::Target{"eval_loss", 1.0};
    aimed.spec.cadence.evaluate_every = 5;
    CHECK(aimed.run().message.find("target reached") == 0);
  }
}

TEST_CASE("threads: a failing gradient ends the run with its message, and nobody hangs") {
  const auto fail = [](int w, std::int64_t step) {
    if (w == 2 && step == 50) throw std::runtime_error("gradient 50 of worker 2");
  };
  const Topology ring = make_topology(4, {{"kind", "ring"}});
  for (const char* algorithm : {"ar-sgd", "d-psgd", "ad-psgd"})
    for (const int exchange_threads : {0, 1}) {
      const RunSpec spec = endless(algorithm, ring);
      const auto objective = test::with(fail, test::quadratic({}, 4, Seeds(1), 5));
      test::MemoryRecorder recorder;
      ThreadsOptions options;
      options.exchange_threads = exchange_threads;
      CHECK_THROWS_WITH(run_threads({spec, *objective, recorder}, options),
                        "gradient 50 of worker 2");
    }
}

TEST_CASE("threads: a divergence is told as one, however it meets a sample") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Setup setup;
    noisy(setup, "ad-psgd");
    setup.workers = 2;
    setup.seed = seed;
    setup.spec.schedule.learning_rate = 1000;
    setup.spec.cadence.consensus_every = 0.5;
    CHECK(setup.run().ending == Ending::diverged);
  }
}

TEST_CASE("threads: a recorder that fails ends the run with its message, and nobody hangs") {
  struct Full final : Recorder {
    int samples = 0;
    void sample(const Position&, std::span<const Value>) override {
      if (++samples == 3) throw std::runtime_error("disk full");
    }
    void progress(const Position&) override {}
    void note(Severity, std::string_view) override {}
    void events(int, std::int64_t, std::span<const Event>) override {}
  };
  const Topology ring = make_topology(4, {{"kind", "ring"}});
  for (const char* algorithm : {"ar-sgd", "d-psgd", "ad-psgd"})
    for (const int exchange_threads : {0, 1}) {
      const RunSpec spec = endless(algorithm, ring);
      const auto objective = test::quadratic({}, 4, Seeds(1), 5);
      Full recorder;
      ThreadsOptions options;
      options.exchange_threads = exchange_threads;
      INFO(algorithm);
      CHECK_THROWS_WITH(run_threads({spec, *objective, recorder}, options), "disk full");
    }
}

TEST_CASE("CORRECTNESS 31: the recorded rate is that of global progress, not of a slow worker") {
  Setup setup;
  noisy(setup, "ad-psgd");
  setup.workers = 4;
  setup.threads.slow_factors = {50, 1, 1, 1};
  setup.spec.schedule.kind = ScheduleKind::cosine;
  setup.run();
  CHECK(setup.recorder.last("learning_rate") == Approx(0).margin(1e-9));
}

// One worker of a ring holds up another after as many gradients as their distance.
TEST_CASE("threads: a synchronous round waits for the workers that it hears, and for nobody else") {
  for (const char* algorithm : {"d-psgd", "decent-adam"}) {
    INFO(algorithm);
    std::atomic<std::int64_t> farthest{-1};
    std::atomic<bool> ahead{true};
    Setup setup;
    setup.on_threads = true;
    setup.algorithm = algorithm;
    setup.spec.budget.gradients = 8 * 12;
    setup.spec.cadence.consensus_every = 1e9;
    setup.before_gradient = [&](int worker, std::int64_t step) {
      if (worker == 4) farthest.store(step);
      if (worker != 0 || step != 2) return;
      ahead.store(comes_true([&] { return farthest.load() == 6; }));
    };
    const Outcome outcome = setup.run();
    CHECK(outcome.ending == Ending::finished);
    CHECK(ahead.load());
  }
}

// Measured by the clock, so the machine must have no other work.
TEST_CASE("threads: rounds of neighbours take the time that the virtual driver says",
          "[.][stress]") {
  constexpr double kMean = 0.01;
  double best = 0;
  for (int trial = 0; trial < 5 && best < 0.9; ++trial) {
    Setup simulated;
    simulated.algorithm = "d-psgd";
    simulated.workers = 16;
    simulated.spec.budget.gradients = 16 * 100;
    simulated.virtual_time.compute.kind = ComputeKind::exponential;
    simulated.virtual_time.compute.gradient_seconds = kMean;
    const double expected = simulated.run().position.seconds;
    Setup timed;
    timed.on_threads = true;
    timed.algorithm = "d-psgd";
    timed.workers = 16;
    timed.spec.budget.gradients = 16 * 100;
    timed.before_gradient = [&](int worker, std::int64_t step) {
      const double seconds =
          simulated.virtual_time.compute.draw_seconds(worker, step, Seeds(timed.seed));
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    };
    const double took = timed.run().position.seconds;
    best = std::max(best, expected / took);
    WARN("gradients per mean duration: virtual " << 1600 * kMean / expected << ", threads "
                                                 << 1600 * kMean / took);
  }
  CHECK(best >= 0.9);
}
