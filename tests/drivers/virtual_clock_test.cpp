// A run of the clock alone takes what the whole run takes, to the last bit.
#include "engine/drivers/virtual/virtual_clock.hpp"

#include "engine/base/error.hpp"
#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

namespace acid::test {
namespace {

constexpr int kEightWorkers = 8, kParameters = 40;

struct Machine {
  const char* name;
  void (*set)(Setup& setup);
};

void set_links(NetworkModel& network, double latency, double bytes_per_second) {
  network.link = {latency, bytes_per_second};
}

/// Machines, and the ends of runs, which between them reach every part of the clock.
constexpr Machine kMachines[] = {
    {"messages that take no time", [](Setup&) {}},
    {"equal links, evaluations, a codec",
     [](Setup& setup) {
       set_links(setup.virtual_time.network, 0.02, 4e3);
       setup.virtual_time.cost.first_bucket_bytes = 40;
       setup.virtual_time.cost.bucket_bytes = 64;
       setup.virtual_time.cost.optimizer_share = 0.1;
       setup.spec.cadence.evaluate_every = 2.3;
       setup.codec = {{"kind", "bf16"}, {"error_feedback", false}};
     }},
    {"nodes whose workers share cards, and a tree",
     [](Setup& setup) {
       NetworkModel& network = setup.virtual_time.network;
       set_links(network, 0.02, 2e3);
       network.inside = {0.001, 1e5};
       network.workers_per_node = {3, 3, 2};
       network.settle(kEightWorkers);
       network.all_reduce = AllReduceKind::tree;
       setup.virtual_time.compute.kind = ComputeKind::exponential;
     }},
    {"a slow edge, samples by the clock, a limit in seconds",
     [](Setup& setup) {
       set_links(setup.virtual_time.network, 0.05, 0);
       setup.virtual_time.network.edges[{0, 1}] = {2.5, 0};
       setup.virtual_time.compute.kind = ComputeKind::lognormal;
       setup.virtual_time.compute.parameter = 0.3;
       setup.spec.cadence = {.consensus_every = kNever, .every_seconds = 1.7};
       setup.spec.budget.seconds = 14.5;
     }},
    {"pauses, a slow worker, stragglers, exchanges that cost their workers time",
     [](Setup& setup) {
       set_links(setup.virtual_time.network, 0.1, 1e4);
       ComputeModel& compute = setup.virtual_time.compute;
       compute.pauses = {{1, 2.5, 3}, {4, 4.25, 1}};
       compute.slow_factors = {1, 1, 3, 1, 1, 1, 1, 1.5};
       compute.slowdown_probability = 0.1;
       compute.slowdown_factor = 4;
       setup.virtual_time.cost.exchange_seconds = 0.03;
     }},
    {"gradients at the events of Poisson clocks, a limit in normalised time",
     [](Setup& setup) {
       set_links(setup.virtual_time.network, 0.05, 1e4);
       setup.virtual_time.gradient_clock = GradientClock::poisson;
       setup.spec.budget.normalised_time = 11.5;
     }},
    {"exchanges all the time, a limit in bytes",
     [](Setup& setup) {
       set_links(setup.virtual_time.network, 0.05, 1e4);
       setup.virtual_time.compute.kind = ComputeKind::exponential;
       setup.spec.budget.bytes = 3e4;
       const bool meets = find_algorithm(setup.algorithm)->peers == Peers::partner;
       if (meets) setup.options["saturate"] = true;
     }},
};

void prepare(Setup& setup, const AlgorithmEntry& entry, const nlohmann::json& graph,
             const Machine& machine) {
  setup.workers = kEightWorkers;
  setup.algorithm = entry.name;
  setup.topology = graph;
  setup.task = {{"dimension", kParameters}, {"noise", 0.1}};
  setup.spec.schedule.learning_rate = 1e-3;
  setup.spec.budget.gradients = 20 * kEightWorkers;
  setup.options = with_fallbacks(entry.fields, setup.options);
  if (setup.options.value("steps", 0.0) > 4) setup.options["steps"] = 4;
  machine.set(setup);
}

std::vector<std::tuple<int, int, std::int64_t>> counts(const Outcome& outcome) {
  std::vector<std::tuple<int, int, std::int64_t>> all;
  for (const EdgeUse& edge : outcome.edges) all.emplace_back(edge.i, edge.j, edge.count);
  return all;
}

void check_same(const Outcome& clock, const Outcome& run) {
  REQUIRE(run.ending == Ending::finished);
  CHECK(clock.ending == Ending::finished);
  CHECK(clock.position.seconds == run.position.seconds);
  CHECK(clock.position.normalised_time == run.position.normalised_time);
  CHECK(clock.position.gradients == run.position.gradients);
  CHECK(clock.position.bytes == run.position.bytes);
  CHECK(clock.worker_idle_seconds == run.worker_idle_seconds);
  CHECK(counts(clock) == counts(run));
  CHECK(clock.exchanges_drawn == run.exchanges_drawn);
  CHECK(clock.exchanges_done == run.exchanges_done);
  CHECK(clock.exchanges_waiting == run.exchanges_waiting);
  CHECK(clock.holds == run.holds);
}

Outcome clock_of(Setup& setup) {
  Outcome outcome;
  setup.with_run(1, {}, [&](const Run& run) {
    outcome = run_clock(run.spec, setup.virtual_time, run.objective.dimension());
  });
  return outcome;
}

}  // namespace

TEST_CASE("the clock alone takes what a run takes, with every method on every kind of machine") {
  const nlohmann::json ring = {{"kind", "ring"}}, changing = {{"kind", "one-peer-exponential"}};
  int compared = 0;
  for (const AlgorithmEntry& entry : algorithm_catalog())
    for (const Machine& machine : kMachines)
      for (const nlohmann::json& graph : {ring, changing}) {
        INFO(entry.name << " on " << graph.dump() << " with " << machine.name);
        Setup setup, again;
        for (Setup* one : {&setup, &again}) prepare(*one, entry, graph, machine);
        Outcome whole;
        try {
          whole = setup.run();
        } catch (const UsageError&) {  // the method is not for this graph, or not for slow workers
          continue;
        }
        check_same(clock_of(again), whole);
        ++compared;
      }
  CHECK(compared > 300);
}

TEST_CASE("the clock alone needs no vectors of the size that it counts") {
  for (const char* algorithm : {"ar-sgd", "d-psgd", "ad-psgd", "a-psgd"}) {
    Setup setup;
    setup.algorithm = algorithm;
    setup.virtual_time.network.link = {0, 1e12};
    setup.spec.budget.gradients = 80;
    setup.with_run(1, {}, [&](const Run& run) {
      const Outcome outcome = run_clock(run.spec, setup.virtual_time, 1ull << 40);
      CHECK(outcome.position.bytes > std::int64_t{80} << 41);
      CHECK(outcome.position.seconds > 20);
    });
  }
}

TEST_CASE("twice the durations are twice the seconds of the clock alone, to the last bit") {
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    INFO(entry.name);
    const auto seconds = [&](double scale) {
      Setup setup;
      prepare(setup, entry, {{"kind", "ring"}}, kMachines[4]);
      setup.virtual_time.compute.gradient_seconds *= scale;
      setup.virtual_time.cost.exchange_seconds *= scale;
      setup.virtual_time.network.link = {0.125 * scale, 4096 / scale};
      for (Pause& pause : setup.virtual_time.compute.pauses)
        pause = {pause.worker, pause.at_seconds * scale, pause.for_seconds * scale};
      return clock_of(setup).position.seconds;
    };
    try {
      CHECK(seconds(2) == 2 * seconds(1));
    } catch (const UsageError&) {  // the method is not for this graph, or not for slow workers
    }
  }
}

}  // namespace acid::test
