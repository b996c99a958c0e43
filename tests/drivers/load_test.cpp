// How exchanges that take a worker's time slow a simulated run down.
#include <utility>

#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

namespace acid::test {
namespace {

/// A ring of 8 whose edge 0–1 takes `seconds`, and all other messages a tenth of a gradient.
Outcome ring_with_slow_edge(double seconds, double units, GradientClock clock) {
  Setup setup;
  setup.virtual_time.gradient_clock = clock;
  setup.virtual_time.network.link.latency_seconds = 0.1;
  setup.virtual_time.network.edges[{0, 1}] = {seconds, 0};
  setup.spec.budget.gradients = 100'000;
  setup.spec.budget.normalised_time = units;
  return setup.run();
}

}  // namespace

TEST_CASE("a load above 1 slows the whole run down by it, and keeps few exchanges waiting") {
  // Worker 0 exchanges once per unit, half of the time over the slow edge: (8 + 0.1) / 2 units.
  const double load = 4.05;
  for (const GradientClock clock : {GradientClock::duration, GradientClock::poisson}) {
    const Outcome shorter = ring_with_slow_edge(8, 100, clock);
    const Outcome longer = ring_with_slow_edge(8, 400, clock);
    CHECK(longer.position.seconds == Approx(400 * load).epsilon(0.15));
    CHECK(longer.exchanges_done == longer.exchanges_drawn);
    CHECK(longer.exchanges_drawn == Approx(4 * 400).epsilon(0.1));
    // Each worker may have 4 waiting, and a few more become due during a gradient.
    CHECK(shorter.exchanges_waiting < 8 * 6);
    CHECK(longer.exchanges_waiting < 8 * 6);
    CHECK(longer.holds > 0);
    CHECK(longer.worker_idle_seconds[4] > 0);
  }
}

namespace {

/// A worker's applies before its last commit, each of which took some of its own time until then.
std::int64_t paid_by(const MemoryRecorder& recorder, int worker) {
  std::int64_t applies = 0, paid = 0;
  for (const Event& event : recorder.events_of(worker)) {
    if (event.kind == EventKind::apply) ++applies;
    if (is_commit(event.kind)) paid = applies;
  }
  return paid;
}

}  // namespace

TEST_CASE("what an exchange takes of a worker's time comes on top of its gradients, exactly") {
  Setup setup;
  setup.workers = 2;
  setup.virtual_time.cost.exchange_seconds = 0.25;
  setup.spec.budget.gradients = 60;
  setup.spec.keep_events = true;
  SECTION("in meetings that take nothing else") {}
  SECTION("in meetings beside the gradients") {
    setup.virtual_time.network.link.latency_seconds = 0.125;
  }
  SECTION("for a worker that is paused meanwhile") {
    setup.virtual_time.compute.pauses = {{0, 3.5, 8}, {1, 3.5, 8}};
  }
  const Outcome outcome = setup.run();
  const double paused = setup.virtual_time.compute.pauses.empty() ? 0 : 8;
  double last = 0;
  for (int w = 0; w < 2; ++w) {
    const auto paid = static_cast<double>(paid_by(setup.recorder, w));
    CHECK(paid > 15);
    CHECK(outcome.worker_idle_seconds[static_cast<std::size_t>(w)] == 0);
    last =
        std::max(last, static_cast<double>(outcome.worker_gradients[static_cast<std::size_t>(w)]) +
                           0.25 * paid + paused);
  }
  CHECK(outcome.position.seconds == last);
  CHECK(outcome.position.normalised_time == Approx(30));
}

TEST_CASE("an exchange's own seconds fall due once per message from a neighbour, in rounds") {
  const auto seconds = [](const char* algorithm, nlohmann::json options, double optimizer_share) {
    Setup setup;
    setup.algorithm = algorithm;
    setup.options = std::move(options);
    setup.workers = 4;
    setup.virtual_time.cost.exchange_seconds = 0.25;
    setup.virtual_time.cost.optimizer_share = optimizer_share;
    setup.spec.budget.gradients = 40;
    const Outcome outcome = setup.run();
    for (const double idle : outcome.worker_idle_seconds) CHECK(idle == 0);
    return outcome.position.seconds;
  };
  CHECK(seconds("d-psgd", {{"order", "adapt-then-combine"}}, 0) == 10 * (1 + 2 * 0.25));
  CHECK(seconds("d-psgd", {{"order", "combine-while-adapt"}}, 0.5) == 10 * (1.5 + 2 * 0.25));
  CHECK(seconds("ar-sgd", nlohmann::json::object(), 0) == 10);
  CHECK(seconds("a-psgd", nlohmann::json::object(), 0) > 10);
}

namespace {

void saturate(Setup& setup, int workers, double seconds) {
  setup.workers = workers;
  setup.options = {{"communication_rate", 4.0}, {"saturate", true}};
  setup.task = {{"noise", 0.5}};
  setup.virtual_time.network.link.latency_seconds = seconds;
  setup.virtual_time.compute.kind = ComputeKind::exponential;
  setup.spec.budget.gradients = 100 * workers;
  setup.spec.keep_events = true;
}

double exchanges_per_gradient(const Outcome& outcome) {
  return 2 * static_cast<double>(outcome.exchanges_done) /
         static_cast<double>(outcome.position.gradients);
}

}  // namespace

TEST_CASE("workers that saturate the network exchange all the time, each with one other") {
  Setup setup;
  saturate(setup, 2, 0.25);
  setup.virtual_time.compute.kind = ComputeKind::constant;
  const Outcome outcome = setup.run();
  CHECK(outcome.position.seconds == 100);
  CHECK(outcome.exchanges_done == 400);
  CHECK(outcome.exchanges_waiting == 0);
  CHECK(outcome.holds == 0);
  Setup many;
  saturate(many, 8, 0.1);
  many.run();
  for (int w = 0; w < 8; ++w) {
    const auto& events = many.recorder.events_of(w);
    bool exchanging = false;
    for (const Event& event : events) {
      if (event.kind == EventKind::offer) CHECK_FALSE(std::exchange(exchanging, true));
      if (event.kind == EventKind::apply) CHECK(std::exchange(exchanging, false));
    }
  }
}

TEST_CASE("one slow edge slows only its two workers where exchanges saturate the network") {
  Setup setup;
  saturate(setup, 8, 0.1);
  setup.virtual_time.network.edges[{0, 1}] = {8, 0};
  const Outcome outcome = setup.run();
  // A fixed rate above 1/4.05 would be slowed down.
  CHECK(exchanges_per_gradient(outcome) > 20 / 4.05);
  CHECK(outcome.position.seconds == Approx(100).epsilon(0.1));
  std::int64_t slow = 0, others = 0;
  for (const EdgeUse& edge : outcome.edges)
    (edge.i == 0 && edge.j == 1 ? slow : others) += edge.count;
  CHECK(slow > 3);
  CHECK(slow < 15);
  CHECK(others > 2000);
}

TEST_CASE("gradients end although exchanges take all of their workers' own time") {
  Setup setup;
  saturate(setup, 6, 0);
  setup.virtual_time.cost.exchange_seconds = 0.25;
  const Outcome outcome = setup.run();
  CHECK(outcome.position.gradients == 600);
  CHECK(outcome.position.seconds > 110);
  CHECK(outcome.position.seconds < 300);
  for (const std::int64_t gradients : outcome.worker_gradients) CHECK(gradients > 50);
}

}  // namespace acid::test
