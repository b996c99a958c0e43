#include <cmath>
#include <set>

#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;
using test::Setup;

namespace {

/// Noisy, heterogeneous, with random durations and messages that take time: everything at once.
void busy(Setup& setup) {
  setup.task = {{"dimension", 33}, {"noise", 0.5}, {"heterogeneity", 1.0}};
  setup.virtual_time.compute.kind = ComputeKind::lognormal;
  setup.virtual_time.compute.parameter = 0.4;
  setup.virtual_time.network.link.latency_seconds = 0.05;
  setup.spec.optimizer.momentum = 0.9;
  setup.spec.schedule.learning_rate = 0.02;
  setup.spec.budget.gradients = 2000;
  setup.spec.cadence.evaluate_every = 10;
}

}  // namespace

TEST_CASE("another seed gives other bits") {
  Setup a, b;
  busy(a);
  busy(b);
  b.seed = 2;
  CHECK(a.run().mean_digest != b.run().mean_digest);
}

TEST_CASE("CORRECTNESS 15: looking more or less often changes no bit of x") {
  std::set<std::string> digests;
  for (const double every : {0.37, 1.0, 25.0, kNever}) {
    Setup setup;
    busy(setup);
    setup.algorithm = "a2cid2";
    setup.spec.cadence.consensus_every = every;
    setup.spec.cadence.evaluate_every = 3 * every;
    const Outcome outcome = setup.run();
    digests.insert(outcome.mean_digest + outcome.worker_digests[3]);
  }
  CHECK(digests.size() == 1);
}

TEST_CASE("CORRECTNESS 15: all durations times a power of two give the same bits") {
  const auto outcome_at = [](double scale) {
    Setup setup;
    busy(setup);
    setup.algorithm = "a2cid2";
    setup.virtual_time.compute.gradient_seconds = scale;
    setup.virtual_time.compute.slow_factors = {1, 1, 3, 1, 1, 1, 1, 1.5};
    setup.virtual_time.network.link.latency_seconds = 0.05 * scale;
    return setup.run();
  };
  const Outcome base = outcome_at(1);
  CHECK(outcome_at(4).worker_digests == base.worker_digests);
  CHECK(outcome_at(0.0078125).worker_digests == base.worker_digests);
  const Outcome other = outcome_at(3);  // any other factor: equal to rounding
  for (std::size_t k = 0; k < base.mean.size(); ++k)
    CHECK(other.mean[k] == Approx(base.mean[k]).margin(1e-3));
}

TEST_CASE("CORRECTNESS 13: the realised rate is r, and every due edge was executed") {
  for (const double rate : {0.5, 3.0}) {
    Setup setup;
    setup.workers = 16;
    setup.task = {{"dimension", 1}, {"curvature", 0.0}};
    setup.options = {{"communication_rate", rate}};
    setup.spec.budget.gradients = 200'000;
    setup.spec.cadence.consensus_every = 1000;
    const Outcome outcome = setup.run();
    CHECK(2.0 * static_cast<double>(outcome.exchanges_done) / 200'000 ==
          Approx(rate).epsilon(0.01));
    CHECK(outcome.exchanges_done == outcome.exchanges_drawn);
  }
}

TEST_CASE("CORRECTNESS 13: exchanges follow the list fixed by the seed, in each worker's order") {
  Setup setup;
  busy(setup);
  setup.spec.keep_events = true;
  const Outcome outcome = setup.run();
  const Topology ring = make_topology(8, {{"kind", "ring"}});
  EdgeSchedule list(ring, 1.0, Seeds(1));
  std::vector<std::vector<std::uint64_t>> expected(8);
  while (list.peek().due <= outcome.position.normalised_time) {
    const DueEdge due = list.pop();
    expected[static_cast<std::size_t>(due.i)].push_back(due.number);
    expected[static_cast<std::size_t>(due.j)].push_back(due.number);
  }
  for (std::size_t w = 0; w < 8; ++w) {
    std::vector<std::uint64_t> order;
    double last = 0;
    for (const Event& event : setup.recorder.events_of(static_cast<int>(w))) {
      CHECK(event.time >= last);
      last = event.time;
      if (event.kind == EventKind::exchange || event.kind == EventKind::offer)
        order.push_back(event.exchange);
    }
    CHECK(order == expected[w]);
  }
}

TEST_CASE("one worker is plain SGD") {
  Setup setup;
  setup.workers = 1;
  setup.task = {{"dimension", 5}};
  setup.spec.schedule.learning_rate = 0.1;
  setup.spec.budget.gradients = 20;
  const Outcome outcome = setup.run();
  std::vector<float> x(5);
  test::quadratic(setup.task, 1, Seeds(1), 1)->start(0, x, {});
  for (int step = 0; step < 20; ++step)
    for (float& value : x) value -= 0.1f * value;
  CHECK(outcome.mean == x);
  CHECK(outcome.exchanges_done == 0);
}

TEST_CASE("the drivers' AR-SGD keeps every worker at one point") {
  Setup setup;
  setup.algorithm = "ar-sgd";
  setup.task = {{"dimension", 10}, {"noise", 1.0}, {"heterogeneity", 1.0}};
  setup.spec.budget.gradients = 400;
  const Outcome outcome = setup.run();
  for (const std::string& digest : outcome.worker_digests)
    CHECK(digest == outcome.worker_digests[0]);
  for (const auto& point : setup.recorder.series("consensus_distance")) CHECK(point.value == 0);
  CHECK(outcome.position.bytes == 50 * 2 * 7 * 40);
}

TEST_CASE("CORRECTNESS 14: a slow worker leaves the others' pace alone") {
  const auto pace = [](double factor) {
    Setup setup;
    setup.workers = 4;
    setup.virtual_time.compute.slow_factors = {factor, 1, 1, 1};
    setup.spec.budget.gradients = 4000;
    const Outcome outcome = setup.run();
    return static_cast<double>(outcome.worker_gradients[2]) / outcome.position.seconds;
  };
  CHECK(pace(4.0) == Approx(pace(1.0)).epsilon(0.01));
}

TEST_CASE("CORRECTNESS 22: one slow worker costs asynchronous training 1/n, synchronous all",
          "[release]") {
  const auto throughput = [](const char* algorithm, double factor) {
    Setup setup;
    setup.workers = 16;
    setup.algorithm = algorithm;
    setup.task = {{"dimension", 1}};
    setup.virtual_time.compute.slow_factors.assign(16, 1.0);
    setup.virtual_time.compute.slow_factors[0] = factor;
    setup.spec.budget.gradients = 64'000;
    setup.spec.cadence.consensus_every = 500;
    const Outcome outcome = setup.run();
    return static_cast<double>(outcome.position.gradients) / outcome.position.seconds;
  };
  for (const double f : {2.0, 10.0, 100.0}) {
    const double ratio = throughput("ad-psgd", f) / throughput("ar-sgd", f);
    INFO("factor " << f);
    CHECK(ratio == Approx(f * (15 + 1 / f) / 16).epsilon(0.02));
  }
}

TEST_CASE("a paused worker loses its pause and nothing else") {
  Setup setup;
  setup.workers = 2;
  setup.virtual_time.compute.pauses = {{0, 10.25, 50.0}};
  setup.spec.budget.gradients = 300;
  const Outcome outcome = setup.run();
  CHECK(outcome.worker_gradients[1] - outcome.worker_gradients[0] == 50);
}

TEST_CASE("limits and targets end a run early") {
  SECTION("seconds: what happens right at the limit counts, for every worker") {
    for (const char* algorithm : {"ad-psgd", "ar-sgd"}) {
      Setup setup;
      setup.algorithm = algorithm;
      setup.spec.budget.gradients = 100'000;
      setup.spec.budget.seconds = 30;
      const Outcome outcome = setup.run();
      CHECK(outcome.position.seconds == Approx(30));
      CHECK(outcome.position.gradients == 8 * 30);
    }
  }
  SECTION("seconds: a round that would end too late does not count, for any worker") {
    for (const char* algorithm : {"ar-sgd", "d-psgd"}) {
      INFO(algorithm);
      Setup setup;
      setup.algorithm = algorithm;
      setup.virtual_time.compute.gradient_seconds = 1.75;
      setup.virtual_time.compute.slow_factors = {1, 1, 1, 1, 2, 1, 1, 1};
      setup.spec.budget.gradients = 100'000;
      setup.spec.budget.seconds = 30;
      const Outcome outcome = setup.run();
      CHECK(outcome.position.gradients == 8 * 8);  // of 3.5 s each
      CHECK(outcome.worker_gradients == std::vector<std::int64_t>(8, 8));
      CHECK(outcome.position.seconds == Approx(28));
      CHECK(setup.recorder.series("eval_loss").back().position.seconds == Approx(28));
    }
  }
  SECTION("seconds: nothing is over before the first round") {
    Setup setup;
    setup.algorithm = "ar-sgd";
    setup.spec.budget.gradients = 100'000;
    setup.spec.budget.seconds = 0.5;
    const Outcome outcome = setup.run();
    CHECK(outcome.ending == Ending::finished);
    CHECK(outcome.position.gradients == 0);
    CHECK(setup.recorder.series("eval_loss").size() == 1);
  }
  SECTION("exchanges that are due at the end are executed without being charged") {
    Setup setup;
    setup.virtual_time.network.link.latency_seconds = 0.7;
    setup.spec.budget.gradients = 100'000;
    setup.spec.budget.seconds = 10;
    const Outcome outcome = setup.run();
    CHECK(outcome.position.seconds == 10);
    CHECK(outcome.exchanges_waiting > 0);
    CHECK(outcome.exchanges_done == outcome.exchanges_drawn);
    Setup counted;
    counted.virtual_time.network.link.latency_seconds = 0.7;
    counted.spec.budget.gradients = outcome.position.gradients;
    CHECK(counted.run().position.seconds == 10);  // of the last gradient
  }
  SECTION("bytes") {
    Setup setup;
    setup.spec.budget.gradients = 100'000;
    setup.spec.budget.bytes = 1e5;
    CHECK(static_cast<double>(setup.run().position.bytes) == Approx(1e5).epsilon(0.05));
  }
  SECTION("a target") {
    Setup setup;
    setup.spec.budget.gradients = 100'000;
    setup.spec.budget.target = Budget::Target{"eval_loss", 0.01};
    setup.spec.cadence.evaluate_every = 1;
    const Outcome outcome = setup.run();
    CHECK(outcome.message.find("target reached") == 0);
    CHECK(outcome.position.gradients < 2000);
    CHECK(setup.recorder.last("eval_loss") <= 0.01);
  }
}

TEST_CASE("a run that diverges says which worker, when, and the last finite loss") {
  for (const char* algorithm : {"ar-sgd", "d-psgd", "ad-psgd", "a2cid2"}) {
    std::set<std::string> messages;
    for (const int threads : {0, 3}) {
      Setup setup;
      setup.algorithm = algorithm;
      setup.virtual_time.threads = threads;
      setup.spec.schedule.learning_rate = 30;
      setup.spec.budget.gradients = 10'000;
      const Outcome outcome = setup.run();
      CHECK(outcome.ending == Ending::diverged);
      CHECK_THAT(outcome.message, ContainsSubstring("of worker") && ContainsSubstring("gradient"));
      CHECK(outcome.message.find("last finite loss") != std::string::npos);
      CHECK(outcome.position.gradients > 0);
      messages.insert(outcome.message + std::to_string(outcome.position.gradients));
    }
    INFO(algorithm);
    CHECK(messages.size() == 1);  // the same for any number of threads
  }
}

TEST_CASE("samples come when they should, and the last one at the end") {
  for (const char* algorithm : {"ad-psgd", "ar-sgd"}) {
    Setup setup;
    setup.algorithm = algorithm;
    setup.spec.budget.gradients = 80;
    setup.spec.cadence.consensus_every = 2.5;
    setup.spec.cadence.evaluate_every = 5;
    setup.run();
    const auto& consensus = setup.recorder.series("consensus_distance");
    REQUIRE(consensus.size() == 5);  // 0, 2.5, 5, 7.5, end
    CHECK(consensus[0].position.gradients == 0);
    CHECK(consensus[4].position.gradients == 80);
    CHECK(setup.recorder.series("eval_loss").size() == 3);
    CHECK(setup.recorder.series("learning_rate").size() == 4);
  }
}

TEST_CASE("a divergence near the end of the budget is seen with any number of threads") {
  std::set<std::string> endings;
  for (const int threads : {0, 1, 3}) {
    Setup setup;
    setup.workers = 4;
    setup.virtual_time.threads = threads;
    setup.spec.schedule.learning_rate = 1e6;
    setup.spec.budget.gradients = 36;  // the loss overflows in the last rounds
    setup.spec.cadence.consensus_every = kNever;
    const Outcome outcome = setup.run();
    endings.insert(outcome.message + std::to_string(outcome.position.gradients) +
                   outcome.mean_digest);
    CHECK(outcome.ending == Ending::diverged);
  }
  CHECK(endings.size() == 1);
}

TEST_CASE("CORRECTNESS 15: rounding of long times loses no gradient and misplaces no sample",
          "[release]") {
  for (const double gradient_seconds : {1.0, 0.1, 0.3, 0.007}) {
    Setup setup;
    setup.workers = 4;
    setup.task = {{"dimension", 2}, {"heterogeneity", 1.0}};
    setup.virtual_time.compute.gradient_seconds = gradient_seconds;
    setup.spec.budget.normalised_time = 15'000;
    setup.spec.budget.gradients = 60'000;
    const Outcome outcome = setup.run();
    INFO("gradients of " << gradient_seconds << " s");
    CHECK(outcome.position.gradients == 60'000);
    std::int64_t misplaced = 0;
    for (const auto& point : setup.recorder.series("consensus_distance"))
      misplaced += static_cast<double>(point.position.gradients) !=
                   4 * std::round(point.position.normalised_time);
    CHECK(misplaced == 0);
  }
}

TEST_CASE("a run that ends at a sample records that position once") {
  for (const char* algorithm : {"ad-psgd", "ar-sgd"}) {
    Setup setup;
    setup.algorithm = algorithm;
    setup.spec.budget.gradients = 1000;
    setup.spec.budget.target = Budget::Target{"eval_loss", 1e9};  // reached at once
    setup.spec.cadence.evaluate_every = 1;
    setup.run();
    CHECK(setup.recorder.series("eval_loss").size() == 1);
    CHECK(setup.recorder.series("consensus_distance").size() == 1);
  }
}
