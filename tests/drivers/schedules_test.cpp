// Graphs that change from exchange to exchange: which workers may be ahead, and what is counted.
#include <atomic>
#include <chrono>
#include <thread>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"

namespace acid::test {
namespace {

constexpr int kWorkers = 8;

/// Rounds of adapt-then-combine, each sending to one other: in a worker's exchanges e = 0, 1, 2, …
/// the message goes 1, 2, 4, 1, … further.
struct OnePeer : Setup {
  OnePeer() {
    algorithm = "d-psgd";
    options = {{"order", "adapt-then-combine"}};
    topology = {{"kind", "one-peer-exponential"}};
    workers = kWorkers;
    task = {{"dimension", 200}, {"noise", 0.3}, {"initial_spread", 1.0}};
    spec.schedule.learning_rate = 0.02;
    spec.budget.gradients = 20 * kWorkers;
    spec.cadence.consensus_every = 1e9;
    spec.cadence.evaluate_every = 1e9;
  }
};

/// Holds worker 0 in its gradient number 3 until another begins one that is two further, and then a
/// little longer: in this time the other would say its message, if it did not have to wait.
class HoldsZero {
 public:
  HoldsZero(int other, double seconds) : other_(other), left_seconds_(seconds) {}
  void operator()(int worker, std::int64_t step) {
    using std::chrono::milliseconds;
    if (worker == other_ && step == 5) ahead_ = true;
    if (worker != 0 || step != 3) return;
    for (; !ahead_ && left_seconds_ > 0; left_seconds_ -= 1e-3)
      std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(30));
  }
  bool saw_it_ahead() const { return ahead_; }

 private:
  const int other_;
  double left_seconds_;
  std::atomic<bool> ahead_{false};
};

}  // namespace

// In exchange 3 worker 0 hears worker 7, which can go on until it needs a message that needs 0's.
TEST_CASE("threads: a message stays until all have heard it, however far ahead its sender is") {
  OnePeer simulated, threads;
  const Outcome expected = simulated.run();
  HoldsZero holds(7, 20);
  threads.before_gradient = [&](int worker, std::int64_t step) { holds(worker, step); };
  threads.on_threads = true;
  const Outcome outcome = threads.run();
  CHECK(holds.saw_it_ahead());
  CHECK(outcome.worker_digests == expected.worker_digests);
  CHECK(outcome.position.bytes == expected.position.bytes);
}

// In exchange 5 worker 0 hears worker 4, which has heard no worker that waits for 0 until then.
TEST_CASE("mpi: what comes rounds too early is kept") {
  OnePeer simulated;
  const Outcome expected = simulated.run();
  OnePeer same;
  HoldsZero holds(4, 3);  // rank 0 may not let any worker get so far ahead
  same.before_gradient = [&](int worker, std::int64_t step) { holds(worker, step); };
  const Outcome outcome = run_as_processes(same);
  CHECK(outcome.worker_digests == expected.worker_digests);
  CHECK(outcome.position.bytes == expected.position.bytes);
}

TEST_CASE("rounds: bytes are those of the messages that the exchanges had") {
  const auto bytes = [](nlohmann::json topology, std::int64_t legs) {
    OnePeer setup;
    setup.topology = std::move(topology);
    setup.spec.budget.gradients = legs * kWorkers;
    return setup.run().position.bytes / (4 * 200);
  };
  CHECK(bytes({{"kind", "one-peer-exponential"}}, 7) == 7 * 8);
  CHECK(bytes({{"kind", "graphs"}, {"graphs", "2 ring, complete"}}, 7) == 5 * 16 + 2 * 56);
  CHECK(bytes({{"kind", "random-matching"}, {"base", "star"}}, 7) == 7 * 2);
  const Topology matchings = make_topology(
      kWorkers, {{"kind", "matchings"}, {"base", "ring"}, {"budget", 0.5}, {"alpha", nullptr}});
  std::int64_t drawn = 0;
  for (std::int64_t e = 0; e < 9; ++e)
    drawn += messages_of(matchings.schedule()->matrix(e, Seeds(1).derived(Purpose::pairing)));
  CHECK(bytes({{"kind", "matchings"}}, 9) == drawn);
}

TEST_CASE("rounds: a plan's bytes are those that a run sends, also where it ends within a period") {
  struct Case {
    const char* algorithm;
    nlohmann::json options;
    const char* graph = "ring";
  };
  for (const Case& one : {Case{"local-sgd", {{"steps", 10}}}, Case{"diloco", {{"steps", 7}}},
                          Case{"des-loc", {{"steps", 3}, {"steps_m", 6}, {"steps_v", 12}}},
                          Case{"gossip-pga", {{"period", 4}}},
                          Case{"streaming-diloco", {{"steps", 5}, {"fragments", 4}}},
                          Case{"d-psgd", nlohmann::json::object(), "alternating-ring"},
                          Case{"d-psgd", nlohmann::json::object(), "one-peer-exponential"}})
    for (const int gradients : {1, 6, 7, 11, 31}) {
      INFO(one.algorithm << " on " << one.graph << ", " << gradients);
      Setup setup;
      setup.algorithm = one.algorithm;
      setup.options = one.options;
      setup.topology = {{"kind", one.graph}, {"directed", true}};
      setup.task = {{"dimension", 8}};
      setup.spec.budget.gradients = gradients * setup.workers;
      const Outcome outcome = setup.run();
      CHECK(bytes_sent(setup.spec.method, make_topology(setup.workers, setup.topology),
                       static_cast<double>(setup.spec.budget.gradients),
                       8 * sizeof(float)) == Approx(static_cast<double>(outcome.position.bytes)));
    }
}

TEST_CASE("rounds: a worker waits for those it hears, and its link for what arrives") {
  OnePeer setup;
  setup.spec.budget.gradients = 6 * kWorkers;
  setup.virtual_time.network.link.latency_seconds = 2;
  // One message at a time, over any distance: a leg is a gradient and a latency.
  CHECK(setup.run().position.seconds == Approx(6 * 3.0));
  OnePeer list;
  list.spec.budget.gradients = 6 * kWorkers;
  list.topology = {{"kind", "graphs"}, {"graphs", "ring, complete"}};
  list.virtual_time.network.link = {.latency_seconds = 0, .bytes_per_second = 800};
  CHECK(list.run().position.seconds == Approx(3 * (1 + 2.0) + 3 * (1 + 7.0)));
}

TEST_CASE("meetings, and methods that would lose models, refuse graphs that change") {
  for (const char* method : {"ad-psgd", "a2cid2", "noloco"})
    for (const bool on_threads : {false, true}) {
      OnePeer setup;
      setup.algorithm = method;
      setup.options = nlohmann::json::object();
      setup.on_threads = on_threads;
      CHECK_THROWS_AS(setup.run(), UsageError);
    }
  OnePeer push;
  push.topology = {{"kind", "epidemic"}, {"form", "push"}};
  CHECK_THROWS_AS(push.run(), UsageError);
}

}  // namespace acid::test
