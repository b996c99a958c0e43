#include <cmath>
#include <map>
#include <vector>

#include "engine/base/archive.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/topology/samples.hpp"

using acid::DueEdge;
using acid::EdgeSchedule;
using acid::Seeds;
using acid::Topology;

TEST_CASE("the edge schedule rings each edge at its rate") {
  const double rate = 1.5, draws = 40'000;
  const int n = GENERATE(2, 7, 16);
  for (const Topology& topology : acid::samples::all_of_size(n)) {
    const std::uint64_t seed = 20;
    INFO(topology.kind() << " n=" << n << " seed=" << seed);
    EdgeSchedule schedule(topology, rate, Seeds(seed));
    std::map<std::pair<int, int>, double> counts;
    double last = 0;
    for (int k = 0; k < draws; ++k) {
      const DueEdge due = schedule.pop();
      last = due.due;
      ++counts[{due.i, due.j}];
    }
    // Exponential gaps: the time of the last ring is draws/(rn/2) within four standard errors.
    CHECK(last * rate * n / 2 == Approx(draws).margin(4 * std::sqrt(draws)));
    double chi_square = 0, seen = 0;
    topology.for_each_edge([&](const acid::Edge& edge) {
      const double expected = draws * topology.edge_rate(edge.i, edge.j, 1) / (n / 2.0);
      const double count = counts[{edge.i, edge.j}];
      chi_square += (count - expected) * (count - expected) / expected;
      seen += count;
    });
    CHECK(seen == draws);  // no exchange off the graph
    const double freedom = static_cast<double>(topology.edge_count()) - 1;
    CHECK(chi_square <= freedom + 4 * std::sqrt(2 * freedom) + 1e-9);
  }
}

TEST_CASE("the edge schedule is a pure function of the gossip seed") {
  const Topology ring = acid::samples::make("ring", 16);
  Seeds seeds(1), other(1);
  other.init = other.data = other.compute = 99;
  EdgeSchedule a(ring, 1, seeds), b(ring, 1, other), c(ring, 1, Seeds(2));
  int differing = 0;
  double previous = 0;
  for (std::uint64_t k = 0; k < 1000; ++k) {
    CHECK(a.peek().due == b.peek().due);
    const DueEdge x = a.pop(), y = b.pop(), z = c.pop();
    CHECK(x.number == k);
    CHECK(x.due > previous);
    CHECK(x.i < x.j);
    CHECK(std::tuple(x.due, x.i, x.j) == std::tuple(y.due, y.i, y.j));
    differing += x.due != z.due;
    previous = x.due;
  }
  CHECK(differing == 1000);
}

TEST_CASE("the edge schedule goes on from wherever it was saved, and knows what comes") {
  const Topology ring = acid::samples::make("ring", 16);
  EdgeSchedule schedule(ring, 1, Seeds(4));
  for (int taken = 0; taken < 300; ++taken) {
    acid::ArchiveWriter writer;
    schedule.persist(writer);
    const std::vector<std::byte> saved = writer.take();
    EdgeSchedule again(ring, 1, Seeds(4));
    acid::ArchiveReader reader(saved);
    again.persist(reader);
    EdgeSchedule same = schedule;
    REQUIRE(schedule.ahead(0).number == schedule.peek().number);
    for (std::size_t k = 0; k < 200; ++k) {
      const DueEdge a = same.pop(), b = again.pop();
      REQUIRE(std::tuple(a.number, a.due, a.i, a.j) == std::tuple(b.number, b.due, b.i, b.j));
      if (k > EdgeSchedule::kAhead) continue;
      const DueEdge& known = schedule.ahead(k);
      REQUIRE(std::tuple(known.number, known.i, known.j) == std::tuple(a.number, a.i, a.j));
    }
    schedule.pop();
  }
}

TEST_CASE("without a rate or without partners nothing is ever due") {
  CHECK(std::isinf(EdgeSchedule(acid::samples::make("ring", 4), 0, Seeds(1)).peek().due));
  CHECK(std::isinf(EdgeSchedule(acid::samples::make("ring", 1), 1, Seeds(1)).peek().due));
}
