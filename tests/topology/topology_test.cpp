#include "engine/topology/topology.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/topology/samples.hpp"

using acid::Edge;
using acid::Topology;
using acid::UsageError;

TEST_CASE("edges listed twice, in either direction, add their weights") {
  const Topology topology("edges", 3, {{1, 0, 1}, {0, 1, 2}, {2, 1, 0.5}});
  CHECK(topology.edge_count() == 2);
  CHECK(topology.repeated_edges() == 1);
  REQUIRE(topology.neighbours(1).size() == 2);
  CHECK(topology.neighbours(1)[0].worker == 0);
  CHECK(topology.neighbours(1)[0].weight == 3);
  CHECK(topology.neighbours(1)[1].worker == 2);
  CHECK(topology.degree(1) == 3.5);
  CHECK(topology.neighbour_count(1) == 2);
  CHECK(topology.adjacent(0, 1));
  CHECK_FALSE(topology.adjacent(0, 2));
  CHECK(topology.edge_rate(0, 2, 1) == 0);
  CHECK(topology.edge_rate(1, 2, 1) == Approx(0.5 * (0.5 / 3.5 + 1)));
}

TEST_CASE("a disconnected graph is an error that names its components") {
  CHECK_THROWS_AS(Topology("edges", 6, {{0, 1}, {1, 2}, {3, 4}}), UsageError);
  CHECK_THROWS_WITH(Topology("edges", 6, {{0, 1}, {1, 2}, {3, 4}}),
                    ContainsSubstring("3 components are {0, 1, 2}, {3, 4}, {5}"));
  CHECK_THROWS_WITH(Topology("edges", 100, {{0, 1}}), ContainsSubstring("and 93 more"));
}

TEST_CASE("impossible edges are refused with the edge named") {
  CHECK_THROWS_WITH(Topology("edges", 3, {{0, 1}, {1, 3}}),
                    ContainsSubstring("[1, 3] names worker 3; workers are 0 to 2"));
  CHECK_THROWS_WITH(Topology("edges", 3, {{-1, 1}}), ContainsSubstring("worker -1"));
  CHECK_THROWS_WITH(Topology("edges", 3, {{1, 1}}), ContainsSubstring("to itself"));
  CHECK_THROWS_AS(Topology("edges", 2, {{0, 1, 0}}), UsageError);
  CHECK_THROWS_AS(Topology("edges", 2, {{0, 1, -1}}), UsageError);
  CHECK_THROWS_AS(Topology("edges", 2, {{0, 1, std::nan("")}}), UsageError);
  CHECK_THROWS_AS(Topology("edges", 2, {{0, 1, HUGE_VAL}}), UsageError);
  CHECK_THROWS_AS(Topology("edges", 0, {}), UsageError);
}

TEST_CASE("the complete graph answers like one with stored edges, and stores none") {
  for (const int n : {2, 3, 7}) {
    const Topology computed = Topology::complete(n);
    std::vector<Edge> edges;
    computed.for_each_edge([&](const Edge& edge) { edges.push_back(edge); });
    const Topology stored("complete", n, edges);
    CHECK(computed.edge_count() == stored.edge_count());
    CHECK(computed.neighbours(0).empty());
    for (int i = 0; i < n; ++i) {
      CHECK(computed.degree(i) == stored.degree(i));
      CHECK(computed.neighbour_count(i) == stored.neighbour_count(i));
      CHECK(computed.worker_rate(i, 2) == Approx(stored.worker_rate(i, 2)));
      for (int j = 0; j < n; ++j) {
        CHECK(computed.adjacent(i, j) == stored.adjacent(i, j));
        CHECK(computed.edge_rate(i, j, 2) == Approx(stored.edge_rate(i, j, 2)));
      }
      for (int k = 0; k < 100; ++k) {
        const double u = (k + 0.5) / 100;
        CHECK(computed.draw_neighbour(i, u) == stored.draw_neighbour(i, u));
      }
    }
  }
  const Topology huge = Topology::complete(2'000'000'000);
  CHECK(huge.edge_count() == 1'999'999'999'000'000'000);
  CHECK(huge.draw_neighbour(5, 0.0) == 0);
  CHECK(huge.draw_neighbour(5, std::nextafter(1.0, 0.0)) == 1'999'999'999);
}

TEST_CASE("draw_neighbour chooses in proportion to weights, to the ends of the unit interval") {
  const Topology topology("edges", 4, {{0, 1, 1}, {0, 2, 2}, {0, 3, 5}});
  const int draws = 8000;
  std::vector<int> counts(4);
  for (int k = 0; k < draws; ++k) {
    ++counts[static_cast<std::size_t>(topology.draw_neighbour(0, (k + 0.5) / draws))];
  }
  CHECK(counts == std::vector<int>{0, 1000, 2000, 5000});
  CHECK(topology.draw_neighbour(0, 0.0) == 1);
  CHECK(topology.draw_neighbour(0, std::nextafter(1.0, 0.0)) == 3);
  CHECK(topology.draw_neighbour(2, 0.999) == 0);
}

TEST_CASE("a single worker has no edges under any kind") {
  for (const acid::TopologyEntry& entry : acid::topology_catalog()) {
    INFO(entry.name);
    const Topology alone = acid::make_topology(1, {{"kind", std::string(entry.name)}});
    CHECK(alone.kind() == entry.name);
    CHECK(alone.workers() == 1);
    CHECK(alone.edge_count() == 0);
    CHECK(alone.neighbour_count(0) == 0);
    CHECK(alone.worker_rate(0, 1) == 0);
  }
}
