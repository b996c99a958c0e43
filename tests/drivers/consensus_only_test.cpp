// Runs without gradients.
#include <cmath>

#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;
using test::Setup;

namespace {

void gossip(Setup& setup, GradientClock clock) {
  setup.workers = 12;
  setup.task = {{"dimension", 5}, {"curvature", 0.0}, {"initial_spread", 1.0}};
  setup.virtual_time.gradient_clock = clock;
  setup.spec.budget.normalised_time = 20;
}

std::int64_t due_until(double end) {
  const Topology ring = make_topology(12, {{"kind", "ring"}});
  EdgeSchedule list(ring, 1.0, Seeds(1));
  while (list.peek().due <= end) list.pop();
  return static_cast<std::int64_t>(list.peek().number);
}

}  // namespace

TEST_CASE("without gradients workers agree as they do beside gradients that are zero") {
  for (const char* algorithm : {"ad-psgd", "a2cid2"}) {
    Setup with, without;
    with.algorithm = without.algorithm = algorithm;
    gossip(with, GradientClock::poisson);
    with.spec.budget.gradients = 240;
    gossip(without, GradientClock::none);
    const Outcome a = with.run(), b = without.run();
    INFO(algorithm);
    CHECK(a.exchanges_done == b.exchanges_done);
    for (const double time : {0.0, 1.0, 7.0, 20.0})
      CHECK(without.recorder.at("consensus_distance", time) ==
            Approx(with.recorder.at("consensus_distance", time)).epsilon(1e-4));
    CHECK(without.recorder.last("consensus_distance") <
          0.2 * without.recorder.at("consensus_distance", 0));
  }
}

TEST_CASE("a run without gradients executes every edge that is due, and has nothing to learn") {
  for (const double latency : {0.0, 0.3}) {
    Setup setup;
    gossip(setup, GradientClock::none);
    setup.virtual_time.network.link.latency_seconds = latency;
    setup.virtual_time.compute.gradient_seconds = 2;  // the length of a unit of time
    const Outcome outcome = setup.run();
    CHECK(outcome.ending == Ending::finished);
    CHECK(outcome.position.gradients == 0);
    CHECK(outcome.position.normalised_time == 20);
    CHECK(outcome.position.seconds >= 40);
    CHECK(outcome.exchanges_done == due_until(20));
    CHECK(outcome.exchanges_drawn == outcome.exchanges_done);
    CHECK(outcome.position.bytes == outcome.exchanges_done * 2 * 5 * 4);
    CHECK(outcome.holds == 0);
    std::int64_t counted = 0;
    for (const EdgeUse& edge : outcome.edges) counted += edge.count;
    CHECK(counted == outcome.exchanges_done);
    for (const char* metric : {"train_loss", "staleness", "gradient_norm", "learning_rate"})
      CHECK_FALSE(setup.recorder.has(metric));
    CHECK(setup.recorder.has("eval_loss"));
    CHECK(setup.recorder.last("idle_share") == 0);
  }
}

TEST_CASE("traffic and targets end a run without gradients early") {
  Setup bytes;
  gossip(bytes, GradientClock::none);
  bytes.spec.budget.bytes = 1000;
  const Outcome spent = bytes.run();
  CHECK(spent.position.bytes == 1000);  // 25 exchanges of 40
  CHECK(spent.position.normalised_time < 20);
  CHECK(spent.ending == Ending::finished);

  Setup target;
  gossip(target, GradientClock::none);
  target.spec.budget.target = Budget::Target{"consensus_distance", 1.0};
  CHECK(target.run().message.find("target reached") == 0);
  CHECK(target.recorder.last("consensus_distance") <= 1.0);
}

TEST_CASE("a lone worker without gradients ends on time") {
  Setup setup;
  gossip(setup, GradientClock::none);
  setup.workers = 1;
  const Outcome outcome = setup.run();
  CHECK(outcome.exchanges_done == 0);
  CHECK(outcome.position.normalised_time == 20);
}

TEST_CASE("a run without gradients and without an end is a bug") {
  Setup setup;
  gossip(setup, GradientClock::none);
  setup.spec.budget.normalised_time = kNever;
  CHECK_THROWS_AS(setup.run(), AssertionError);
}

TEST_CASE("what many commits between two samples tell is summed up, in their order") {
  // More notes than are kept one by one. At a learning rate of 0 the losses are those of the start.
  const auto prepare = [](Setup& setup, std::int64_t gradients) {
    setup.workers = 4;
    setup.task = {{"dimension", 2}, {"heterogeneity", 1.0}};
    setup.virtual_time.gradient_clock = GradientClock::poisson;
    setup.spec.schedule.learning_rate = 0;
    setup.spec.budget.gradients = gradients;
    setup.spec.cadence.consensus_every = kNever;
  };
  std::vector<double> losses;
  for (const int threads : {0, 2}) {
    Setup setup;
    prepare(setup, 150'000);
    setup.virtual_time.threads = threads;
    const Outcome outcome = setup.run();
    losses.push_back(setup.recorder.last("train_loss"));
    std::int64_t counted = 0;
    for (const std::int64_t gradients : outcome.staleness) counted += gradients;
    CHECK(counted == 150'000);
    CHECK(setup.recorder.last("gradient_norm") > 0);
  }
  CHECK(losses[0] == losses[1]);
  Setup few;
  prepare(few, 60'000);
  few.run();
  CHECK(losses[0] == Approx(few.recorder.last("train_loss")).epsilon(0.02));
}
