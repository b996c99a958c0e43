// Normalised time: what it counts, how schedules follow it, and how samples follow the clock.
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "engine/drivers/shared/normalised_clock.hpp"
#include "engine/methods/method.hpp"
#include "engine/run/sample_times.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "engine/topology/topology.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/replay_fixture.hpp"

using namespace acid;
using test::Setup;

namespace {

constexpr int kWorkers = 16;
constexpr std::int64_t kGradients = 4000;

/// The run with the chosen durations: ring 16, r = 1, 250 units.
void let_tails_vary(Setup& setup, std::uint64_t seed) {
  setup.workers = kWorkers;
  setup.seed = seed;
  setup.task = {{"dimension", 2}, {"curvature", 0.0}};
  setup.spec.budget.gradients = kGradients;
  setup.spec.cadence.consensus_every = 50;
}

/// Edges that are due by then.
std::int64_t drawn_by(double time, std::uint64_t seed) {
  const Topology ring = make_topology(kWorkers, {{"kind", "ring"}});
  EdgeSchedule schedule(ring, 1.0, Seeds(seed));
  std::int64_t count = 0;
  for (; schedule.peek().due <= time; ++count) schedule.pop();
  return count;
}

struct Tail {
  const char* name;
  ComputeKind kind;
  double parameter;
};
constexpr Tail kTails[] = {{"constant", ComputeKind::constant, 0},
                           {"exponential", ComputeKind::exponential, 0},
                           {"lognormal 3", ComputeKind::lognormal, 3},
                           {"lognormal 10", ComputeKind::lognormal, 10},
                           {"pareto 1.1", ComputeKind::pareto, 1.1}};

}  // namespace

TEST_CASE("CORRECTNESS 13: r exchanges per gradient hold for any tail of the durations") {
  // Normalised time is gradients ÷ n, up to the shares of the n − 1 gradients that are in flight.
  const double units = static_cast<double>(kGradients) / kWorkers;
  for (const Tail& tail : kTails)
    for (const std::uint64_t seed : {1, 2, 3}) {
      INFO(tail.name << ", seed " << seed);
      Setup setup;
      let_tails_vary(setup, seed);
      setup.virtual_time.compute.kind = tail.kind;
      setup.virtual_time.compute.parameter = tail.parameter;
      const Outcome outcome = setup.run();
      CHECK(outcome.position.normalised_time >= units * (1 - 1e-9));
      CHECK(outcome.position.normalised_time <= units + 1);
      CHECK(outcome.exchanges_drawn >= drawn_by(units * (1 - 1e-9), seed));
      CHECK(outcome.exchanges_drawn <= drawn_by(units + 1, seed));
    }
}

TEST_CASE("threads and the virtual driver have the same rate of exchanges, whatever the tail") {
  for (const Tail& tail : {kTails[0], kTails[4]}) {
    INFO(tail.name);
    Setup threads, simulated;
    let_tails_vary(threads, 5);
    let_tails_vary(simulated, 5);
    threads.on_threads = true;
    simulated.virtual_time.compute.kind = tail.kind;
    simulated.virtual_time.compute.parameter = tail.parameter;
    const auto a = static_cast<double>(threads.run().exchanges_done);
    const auto b = static_cast<double>(simulated.run().exchanges_done);
    // At most one unit of time apart: n/2 exchanges and four standard deviations of their number.
    CHECK(std::abs(a - b) <= kWorkers / 2 + 4 * std::sqrt(kWorkers / 2));
    CHECK(2 * a / kGradients == Approx(1).margin(4 * std::sqrt(2.0 / kGradients)));
  }
}

TEST_CASE("a gradient counts once in normalised time, however often its worker pauses") {
  Setup setup;
  let_tails_vary(setup, 1);
  setup.virtual_time.compute.kind = ComputeKind::pareto;
  setup.virtual_time.compute.parameter = 1.1;
  for (int k = 0; k < 40; ++k)
    setup.virtual_time.compute.pauses.push_back({k % kWorkers, 1.0 + 3 * k, 2.5});
  const Outcome outcome = setup.run();
  CHECK(outcome.position.normalised_time >= 250 * (1 - 1e-9));
  CHECK(outcome.position.normalised_time <= 251);
}

TEST_CASE("the normalised clock leaves no trace of who came and went") {
  NormalisedClock one(3, 0.5), other(3, 0.5);
  const double durations[] = {0.3, 1e-7, 7.7, 1e9, 0.1};
  for (const double d : durations) one.begins(0, d);
  for (int k = 4; k >= 0; --k) other.begins(0, durations[k]);
  CHECK(one.time_at(2.5) == other.time_at(2.5));
  for (const double d : {1e-7, 0.3, 0.1, 1e9}) one.ends(0, d);
  NormalisedClock alone(3, 0.5);
  alone.begins(0, 7.7);
  CHECK(one.time_at(2.5) == alone.time_at(2.5));
  NormalisedClock at_once(4, 1.0);  // no time passes, a gradient is counted
  at_once.begins(1, 1e-300);
  at_once.ends(1, 1e-300);
  CHECK(at_once.time_at(9) == 0.25);
  at_once.begins(9, 0);
  CHECK(at_once.time_at(9) == 0.5);
}

TEST_CASE("a schedule follows time where the budget is a time, and ends with it") {
  for (const bool on_threads : {false, true}) {
    INFO((on_threads ? "threads" : "virtual"));
    Setup setup;
    setup.workers = 4;
    setup.on_threads = on_threads;
    setup.virtual_time.gradient_clock = GradientClock::poisson;
    setup.spec.budget.normalised_time = 400;
    setup.spec.budget.gradients = 1600 * 3 / 2;  // an expectation that will not be met
    if (on_threads) setup.spec.budget.gradients = 1600;
    setup.spec.schedule.kind = ScheduleKind::cosine;
    setup.spec.cadence.consensus_every = 40;
    setup.run();
    for (const auto& point : setup.recorder.series("learning_rate")) {
      const double share = std::min(1.0, point.position.normalised_time / 400);
      CHECK(point.value == Approx(setup.spec.schedule.rate(share)).margin(0.02 * 0.05));
    }
  }
}

TEST_CASE("samples by the clock come at the first moment there is after each multiple") {
  for (const char* algorithm : {"ad-psgd", "ar-sgd", "d-psgd"}) {
    INFO(algorithm);
    Setup setup;
    setup.workers = 4;
    setup.algorithm = algorithm;
    setup.spec.budget.gradients = 400;
    setup.virtual_time.compute.gradient_seconds = 0.01;
    setup.virtual_time.compute.slow_factors = {1, 1, 1, 5};
    setup.spec.cadence = {
        .consensus_every = kNever, .evaluate_every = kNever, .every_seconds = 0.12};
    const Outcome outcome = setup.run();
    const auto& points = setup.recorder.series("eval_loss");
    CHECK(points.front().position.seconds == 0);
    // A round takes 0.05 s; an asynchronous run can be sampled at any time.
    const bool rounds = std::string(algorithm) != "ad-psgd";
    for (std::size_t k = 1; k + 1 < points.size(); ++k) {
      const double at = points[k].position.seconds, multiple = 0.12 * static_cast<double>(k);
      CHECK(at >= multiple * (1 - 1e-12));
      CHECK(at < multiple + (rounds ? 0.05 : 1e-9));
    }
    CHECK(points.size() == std::floor(outcome.position.seconds / 0.12 - 1e-9) + 2);
    CHECK(setup.recorder.series("consensus_distance").size() == points.size());
  }
}

TEST_CASE("threads: samples by the clock come when it is time, and can be taken again") {
  // One worker is slow, so that others are ahead of it where they need not wait for it.
  const auto slow = [](int worker, std::int64_t) {
    if (worker == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  };
  for (const char* algorithm : {"ad-psgd", "ar-sgd", "d-psgd"}) {
    INFO(algorithm);
    Setup setup;
    setup.workers = 8;
    setup.on_threads = true;
    setup.algorithm = algorithm;
    setup.before_gradient = slow;
    setup.spec.budget.gradients = 1'000'000'000;
    setup.spec.budget.seconds = 0.5;
    setup.spec.cadence = {
        .consensus_every = kNever, .evaluate_every = kNever, .every_seconds = 0.05};
    const Outcome first = setup.run();
    const auto& points = setup.recorder.series("eval_loss");
    REQUIRE(points.size() >= 3);
    for (std::size_t k = 1; k + 1 < points.size(); ++k)
      CHECK(points[k].position.seconds >= 0.05 * static_cast<double>(k));
    if (std::string(algorithm) == "ad-psgd") continue;  // its log has them
    Setup again;
    again.workers = 8;
    again.on_threads = true;
    again.algorithm = algorithm;
    again.before_gradient = slow;
    again.spec.cadence = setup.spec.cadence;
    again.spec.cadence.at_gradients.emplace();
    for (const auto& point : points)
      again.spec.cadence.at_gradients->push_back(point.position.gradients);
    again.spec.budget.gradients = setup.spec.budget.gradients;
    again.spec.end_at_gradients = first.position.gradients;
    CHECK(again.run().mean_digest == first.mean_digest);
    const auto& taken = again.recorder.series("eval_loss");
    REQUIRE(taken.size() == points.size());
    for (std::size_t k = 0; k < points.size(); ++k) {
      CHECK(taken[k].position.gradients == points[k].position.gradients);
      CHECK(taken[k].value == points[k].value);
    }
  }
}

TEST_CASE("threads: a limit in seconds holds while a sample is being evaluated") {
  // The evaluation takes as long as the run may last, and begins before its end.
  int evaluations = 0;
  const auto objective =
      test::with({}, test::quadratic({}, 2, Seeds(1), 3), [&evaluations](EvaluationSet set) {
        if (set == EvaluationSet::test && ++evaluations == 2)
          std::this_thread::sleep_for(std::chrono::milliseconds(2000));
      });
  const Topology ring = make_topology(2, {{"kind", "ring"}});
  RunSpec spec;
  spec.workers = 2;
  spec.topology = &ring;
  const AlgorithmEntry* method = find_algorithm(GENERATE("ad-psgd", "ar-sgd", "d-psgd"));
  INFO(method->name);
  spec.method = method->make(with_fallbacks(method->fields, nlohmann::json::object()), nullptr);
  spec.seeds = Seeds(1);
  spec.budget.gradients = 1'000'000'000;
  spec.budget.seconds = 0.3;
  spec.cadence = {.consensus_every = kNever, .evaluate_every = kNever, .every_seconds = 0.2};
  test::MemoryRecorder recorder;
  const Outcome outcome = run_threads({spec, *objective, recorder}, {});
  CHECK(outcome.position.seconds >= 0.2);
  CHECK(outcome.position.seconds < 1.5);  // the evaluation went on until 2.2
}

TEST_CASE("threads: a limit in seconds does not end rounds where an earlier attempt saved them") {
  for (const char* algorithm : {"ar-sgd", "d-psgd"}) {
    INFO(algorithm);
    const auto prepare = [&](Setup& setup) {
      setup.workers = 2;
      setup.on_threads = true;
      setup.algorithm = algorithm;
      setup.spec.budget.gradients = 100;
    };
    test::CheckpointFolder cuts(10);
    Setup first;
    prepare(first);
    first.checkpointing.checkpoints = &cuts;
    first.run();
    REQUIRE(!cuts.saved().empty());
    const test::CheckpointFolder::Saved& saved = cuts.saved().front();
    const CheckpointFile from(saved.path);
    Setup resumed;
    prepare(resumed);
    resumed.spec.budget.seconds = saved.position.seconds;
    resumed.checkpointing.resume = &from;
    resumed.recorder.events_may_start_late();
    const Outcome outcome = resumed.run();
    CHECK(outcome.ending == Ending::finished);
    CHECK(outcome.position.gradients == saved.position.gradients + 2);
  }
}

TEST_CASE("samples by the clock come while nobody computes, too") {
  Setup setup;
  setup.workers = 2;
  setup.spec.budget.seconds = 20;
  setup.spec.budget.gradients = 1'000'000;
  setup.virtual_time.compute.gradient_seconds = 0.25;
  setup.virtual_time.compute.pauses = {{0, 5, 10}, {1, 5, 10}};
  setup.spec.cadence = {.consensus_every = kNever, .evaluate_every = kNever, .every_seconds = 1};
  const Outcome outcome = setup.run();
  CHECK(outcome.position.seconds == 20);
  const auto& points = setup.recorder.series("eval_loss");
  REQUIRE(points.size() == 21);
  for (std::size_t k = 0; k < points.size(); ++k)
    CHECK(points[k].position.seconds == static_cast<double>(k));
}

TEST_CASE("sample times pass any number of multiples at once") {
  for (const double every : {1e-300, 1e-9, 0.1, 3.0, 1e300}) {
    INFO(every);
    const Cadence cadence{.consensus_every = every, .evaluate_every = every};
    SampleTimes times(cadence);
    CHECK(times.next() == 0);
    for (const double later : {0.0, 0.3, 1.0, 5.0, 1e6}) {
      const double now = std::max(later, times.next());
      times.pass({.normalised_time = now}, 4);
      CHECK(times.next() > now);
      CHECK(times.next() <= (now + every) * (1 + 1e-8) + 3e-9);
      CHECK_FALSE(times.due({.normalised_time = now}));
    }
  }
}

TEST_CASE("samples that are spread over a run come at whole units, each at its own") {
  for (const double end : {200.0, 215.3, 1000.5, 8000.0, 1e7}) {
    INFO(end);
    const Cadence cadence{.consensus_samples = 200, .end = end, .evaluate_every = kNever};
    SampleTimes times(cadence), jumping(cadence);
    double before = -1;
    int count = 0;
    for (; times.next() <= end; ++count) {
      const double now = times.next();
      REQUIRE(now == std::floor(now));
      REQUIRE(now > before);
      if (count > 0) {
        jumping.pass({.normalised_time = now - 0.25}, 4);
        REQUIRE(jumping.next() == now);
      }
      before = now;
      times.pass({.normalised_time = now}, 4);
    }
    CHECK(count >= 200);
    CHECK(count <= 201);
  }
  const Cadence dense{.consensus_samples = 10, .end = 5, .evaluate_every = kNever};
  SampleTimes times(dense);
  times.pass({}, 4);
  CHECK(times.next() == Approx(0.5));
}

TEST_CASE("a run all of whose workers are paused ends at its limit in seconds") {
  for (const char* algorithm : {"ad-psgd", "async-diloco"}) {
    Setup setup;
    setup.algorithm = algorithm;
    setup.virtual_time.compute.pauses = {{0, 3, 100}, {1, 3, 100}};
    setup.workers = 2;
    setup.spec.budget.gradients = 100;
    setup.spec.budget.seconds = 5;
    INFO(algorithm);
    CHECK(setup.run().position.seconds == 5);
  }
}
