// Facts about the exchanges of whole runs.
#include <cmath>
#include <map>

#include "engine/topology/spectral.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/replay_fixture.hpp"

using namespace acid;
using test::MemoryRecorder;
using test::Replayable;
using test::script_of;
using test::Setup;

namespace {

void heterogeneous(Setup& setup, const char* graph, GradientClock clock, double latency) {
  setup.topology = {{"kind", graph}};
  setup.task = {{"dimension", 50}, {"noise", 0.5}, {"heterogeneity", 1.0}};
  setup.virtual_time.gradient_clock = clock;
  setup.virtual_time.compute.kind = ComputeKind::lognormal;
  setup.virtual_time.compute.parameter = 0.3;
  setup.virtual_time.network.link.latency_seconds = latency;
  setup.spec.optimizer.momentum = 0.9;
  setup.spec.schedule.learning_rate = 0.01;
  setup.spec.budget.gradients = 4000;
}

}  // namespace

TEST_CASE("CORRECTNESS 4: with η = 0 and α̃ = ½ a2cid2 has the bits of ad-psgd") {
  for (const GradientClock clock : {GradientClock::duration, GradientClock::poisson})
    for (const double latency : {0.0, 0.2}) {
      Setup plain;
      heterogeneous(plain, "ring", clock, latency);
      Setup same;
      heterogeneous(same, "ring", clock, latency);
      same.algorithm = "a2cid2";
      same.options = {{"eta", 0.0}, {"alpha_tilde", 0.5}};
      Setup other;
      heterogeneous(other, "ring", clock, latency);
      other.algorithm = "a2cid2";
      const Outcome outcome = plain.run();
      CHECK(same.run().worker_digests == outcome.worker_digests);
      CHECK(other.run().worker_digests != outcome.worker_digests);
    }
  // On threads: one run's events, executed by either method.
  Replayable run({.algorithm = "ad-psgd", .workers = 5, .gradients = 1000});
  MemoryRecorder recorder, again;
  const Outcome recorded = run.record(recorder);
  const AlgorithmEntry* entry = find_algorithm("a2cid2");
  const nlohmann::json options = {{"communication_rate", 2.0}, {"eta", 0.0}, {"alpha_tilde", 0.5}};
  const Spectral nominal = spectral(run.graph, 2);
  run.spec.method = entry->make(with_fallbacks(entry->fields, options), &nominal);
  CHECK(run.replay(script_of(recorder, 5), again).worker_digests == recorded.worker_digests);
}

TEST_CASE("CORRECTNESS 4: on the complete graph a2cid2 is ad-psgd, to rounding") {
  for (const GradientClock clock : {GradientClock::duration, GradientClock::poisson})
    for (const double latency : {0.0, 0.2}) {
      Setup plain;
      heterogeneous(plain, "complete", clock, latency);
      Setup mixed;
      heterogeneous(mixed, "complete", clock, latency);
      mixed.algorithm = "a2cid2";
      const Outcome a = plain.run(), b = mixed.run();
      for (std::size_t k = 0; k < a.mean.size(); ++k)
        CHECK(b.mean[k] == Approx(a.mean[k]).margin(2e-5));
      const auto& expected = plain.recorder.series("consensus_distance");
      const auto& found = mixed.recorder.series("consensus_distance");
      REQUIRE(found.size() == expected.size());
      for (std::size_t k = 0; k < found.size(); ++k)
        CHECK(found[k].value == Approx(expected[k].value).epsilon(1e-4).margin(1e-6));
    }
}

TEST_CASE("CORRECTNESS 13: the exchanges of each edge fit its rate (χ²)") {
  for (const char* graph : {"ring", "star", "barbell", "complete"})
    for (const bool on_threads : {false, true}) {
      Setup setup;
      heterogeneous(setup, graph, GradientClock::duration, 0);
      setup.on_threads = on_threads;
      setup.task["dimension"] = 4;
      setup.spec.budget.gradients = 16'000;
      const Outcome outcome = setup.run();
      const Topology topology = make_topology(8, {{"kind", graph}});
      std::map<std::pair<int, int>, double> counts;
      for (const EdgeUse& edge : outcome.edges) {
        CHECK(edge.i < edge.j);
        CHECK(topology.edge_rate(edge.i, edge.j, 1) > 0);
        counts[{edge.i, edge.j}] += static_cast<double>(edge.count);
      }
      double chi_squared = 0;
      topology.for_each_edge([&](const Edge& edge) {
        const double expected =
            topology.edge_rate(edge.i, edge.j, 1) * outcome.position.normalised_time;
        const double off = counts[{edge.i, edge.j}] - expected;
        chi_squared += off * off / expected;
      });
      // Independent Poisson counts: as many degrees of freedom as edges.
      const auto edges = static_cast<double>(topology.edge_count());
      INFO(graph << (on_threads ? " on threads" : "") << ": χ² = " << chi_squared << " of " << edges
                 << " edges");
      CHECK(chi_squared < edges + 4 * std::sqrt(2 * edges));
      CHECK(chi_squared > edges - 4 * std::sqrt(2 * edges));
    }
}
