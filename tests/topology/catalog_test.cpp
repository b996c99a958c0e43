#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/topology/samples.hpp"

using acid::Edge;
using acid::Topology;
using acid::UsageError;
using acid::samples::make;
using Json = nlohmann::json;

namespace {

std::map<std::pair<int, int>, double> edges_of(const Topology& topology) {
  std::map<std::pair<int, int>, double> edges;
  topology.for_each_edge([&](const Edge& e) { edges[{e.i, e.j}] = e.weight; });
  return edges;
}

std::vector<std::string> kinds_refusing(int workers) {
  std::vector<std::string> kinds;
  for (const acid::TopologyEntry& entry : acid::topology_catalog()) {
    try {
      make(entry.name, workers);
    } catch (const UsageError& error) {
      kinds.emplace_back(entry.name);
      INFO(error.what());
      CHECK(std::string(error.what()).find(entry.name) != std::string::npos);
    }
  }
  return kinds;
}

}  // namespace

TEST_CASE("every catalogued topology is a connected graph whose rates sum to rn/2") {
  const int n = GENERATE(2, 3, 4, 7, 16);
  for (const Topology& topology : acid::samples::all_of_size(n)) {
    INFO(topology.kind() << " n=" << n);
    CHECK(topology.workers() == n);
    double sum = 0;
    std::int64_t count = 0;
    std::pair<int, int> last{-1, -1};
    topology.for_each_edge([&](const Edge& edge) {
      CHECK(edge.i < edge.j);
      CHECK(last < std::pair(edge.i, edge.j));
      last = {edge.i, edge.j};
      CHECK(edge.weight > 0);
      CHECK(topology.adjacent(edge.i, edge.j));
      CHECK(topology.adjacent(edge.j, edge.i));
      CHECK(topology.edge_rate(edge.i, edge.j, 1.5) == topology.edge_rate(edge.j, edge.i, 1.5));
      sum += topology.edge_rate(edge.i, edge.j, 1.5);
      ++count;
    });
    CHECK(sum == Approx(1.5 * n / 2).epsilon(1e-12));
    CHECK(count == topology.edge_count());
    double worker_sum = 0;
    for (int i = 0; i < n; ++i) worker_sum += topology.worker_rate(i, 1.5);
    CHECK(worker_sum == Approx(1.5 * n).epsilon(1e-12));
  }
}

TEST_CASE("each kind refuses exactly the sizes it cannot have") {
  using Names = std::vector<std::string>;
  // The default random graph of three workers happens to be disconnected.
  CHECK(kinds_refusing(3) == Names{"bipartite-exponential", "torus", "hypercube", "random-regular",
                                   "erdos-renyi", "alternating-ring",
                                   "alternating-exponential-ring"});
  CHECK(kinds_refusing(7) == Names{"bipartite-exponential", "torus", "hypercube",
                                   "alternating-ring", "alternating-exponential-ring"});
  CHECK(kinds_refusing(16).empty());
  CHECK_THROWS_AS(acid::make_topology(0, {{"kind", "ring"}}), UsageError);
  CHECK_THROWS_AS(acid::make_topology(4, {{"kind", "rnig"}}), UsageError);
  CHECK(acid::find_topology("rnig") == nullptr);
}

TEST_CASE("exponential: neighbours i ± 2ᵏ, the offset n/2 twice") {
  const Topology eight = make("exponential", 8);
  std::map<int, double> neighbours;
  for (const auto& [worker, weight] : eight.neighbours(0)) neighbours[worker] = weight;
  CHECK(neighbours == std::map<int, double>{{1, 1}, {2, 1}, {4, 2}, {6, 1}, {7, 1}});
  CHECK(make("exponential", 2).degree(0) == 2);
  CHECK(make("exponential", 6).degree(3) == 6);
}

TEST_CASE("bipartite-exponential: odd hops 1, 3, 5, 9, 17, …, and no odd cycle") {
  const Topology topology = make("bipartite-exponential", 40);
  std::set<int> neighbours;
  for (const auto& neighbour : topology.neighbours(0)) neighbours.insert(neighbour.worker);
  CHECK(neighbours == std::set<int>{1, 3, 5, 7, 9, 17, 23, 31, 33, 35, 37, 39});
  for (const int n : {2, 4, 6, 16, 30}) {
    make("bipartite-exponential", n).for_each_edge([](const Edge& edge) {
      CHECK((edge.i + edge.j) % 2 == 1);
    });
  }
}

TEST_CASE("torus: square unless told, and short sides count as they are met") {
  CHECK(make("torus", 12).cycles()[0] == 3);
  CHECK(make("torus", 12, {{"rows", 2}}).cycles()[0] == 2);
  CHECK(make("torus", 12, {{"rows", 2}}).edge_rate(0, 6, 1) == Approx(0.5));
  CHECK(edges_of(make("torus", 7, {{"rows", 1}})) == edges_of(make("ring", 7)));
  CHECK(edges_of(make("torus", 7, {{"rows", 7}})) == edges_of(make("ring", 7)));
  CHECK_THROWS_WITH(make("torus", 7), ContainsSubstring("1 × 7"));
  CHECK_THROWS_AS(make("torus", 12, {{"rows", 5}}), UsageError);
}

TEST_CASE("star, chain, hypercube and barbell are what their names say") {
  const Topology star = make("star", 5);
  CHECK(star.neighbour_count(0) == 4);
  CHECK(star.worker_rate(0, 1) == Approx(2.5));
  CHECK(make("chain", 5).edge_count() == 4);
  CHECK(make("hypercube", 16).neighbour_count(5) == 4);
  const Topology barbell = make("barbell", 7);
  CHECK(barbell.edge_count() == 3 + 6 + 1);
  CHECK(barbell.adjacent(2, 3));
  CHECK_THROWS_WITH(make("barbell", 100'000), ContainsSubstring("edges"));
}

TEST_CASE("random-regular graphs are regular, simple and a function of their seed") {
  const auto [n, degree] = GENERATE(table<int, int>({{2, 1},
                                                     {5, 2},
                                                     {5, 4},
                                                     {8, 3},
                                                     {16, 7},
                                                     {16, 8},
                                                     {16, 14},
                                                     {50, 25},
                                                     {200, 60},
                                                     {1000, 3}}));
  const Json options{{"degree", degree}, {"seed", 9}};
  const Topology topology = make("random-regular", n, options);
  INFO("n=" << n << " degree=" << degree);
  for (int i = 0; i < n; ++i) {
    CHECK(topology.neighbour_count(i) == degree);
    CHECK(topology.degree(i) == degree);
  }
  CHECK(edges_of(topology) == edges_of(make("random-regular", n, options)));
  if (n > 5) {
    CHECK(edges_of(topology) !=
          edges_of(make("random-regular", n, {{"degree", degree}, {"seed", 10}})));
  }
}

TEST_CASE("random-regular draws every graph of four workers and degree two about equally") {
  std::map<std::map<std::pair<int, int>, double>, int> counts;
  const int draws = 300;
  for (int seed = 0; seed < draws; ++seed) {
    ++counts[edges_of(make("random-regular", 4, {{"degree", 2}, {"seed", seed}}))];
  }
  CHECK(counts.size() == 3);
  for (const auto& [graph, count] : counts) CHECK(std::abs(count - draws / 3) < 35);
}

TEST_CASE("random-regular refuses impossible degrees") {
  CHECK_THROWS_AS(make("random-regular", 7, {{"degree", 3}}), UsageError);
  CHECK_THROWS_AS(make("random-regular", 4, {{"degree", 4}}), UsageError);
  CHECK_THROWS_AS(make("random-regular", 4, {{"degree", 0}}), UsageError);
  CHECK_THROWS_WITH(make("random-regular", 4, {{"degree", 1}}), ContainsSubstring("degree 1"));
}

TEST_CASE("erdos-renyi has the expected number of edges, spread evenly, from its seed") {
  const int n = 400;
  const double p = 0.1, expected = p * n * (n - 1) / 2;
  const Topology topology = make("erdos-renyi", n, {{"p", p}, {"seed", 3}});
  CHECK(std::abs(static_cast<double>(topology.edge_count()) - expected) <
        4 * std::sqrt(expected * (1 - p)));
  int within_first_half = 0;
  for (const auto& [pair, weight] : edges_of(topology)) within_first_half += pair.second < n / 2;
  CHECK(std::abs(within_first_half - expected / 4) < 4 * std::sqrt(expected / 4));
  CHECK(edges_of(topology) == edges_of(make("erdos-renyi", n, {{"p", p}, {"seed", 3}})));
  CHECK(edges_of(topology) != edges_of(make("erdos-renyi", n, {{"p", p}, {"seed", 4}})));
  CHECK(edges_of(make("erdos-renyi", 9, {{"p", 1.0}})) == edges_of(Topology::complete(9)));
  CHECK_THROWS_WITH(make("erdos-renyi", 50, {{"p", 1e-300}}),
                    ContainsSubstring("components") && ContainsSubstring("larger p"));
  CHECK_THROWS_AS(make("erdos-renyi", 50, {{"p", 0.0}}), UsageError);
}

TEST_CASE("edges come from a list or a file, and mistakes are named") {
  const Json list{{0, 1}, {1, 2, 2.5}};
  const std::string path = std::string(BINARY_ROOT) + "/edges_test.txt";
  const auto from_file = [&](const std::string& text) {
    std::ofstream(path) << text;
    return make("edges", 3, {{"edges", path}});
  };
  CHECK(edges_of(make("edges", 3, {{"edges", list}})) ==
        edges_of(from_file("# a path\n\n0 1\r\n  2\t1 2.5 # heavier\n")));
  CHECK_THROWS_WITH(from_file("0 1\n1 x\n"), ContainsSubstring(":2: '1 x' is not an edge"));
  CHECK(from_file("\xEF\xBB\xBF"
                  "0 1\n1 2\n")
            .edge_count() == 2);
  for (const char* weights : {"0 1 1e-13\n1 2\n", "0 1 1e101\n1 2 1e101\n"})
    CHECK_THROWS_WITH(from_file(weights), ContainsSubstring("the heaviest edge"));
  CHECK_THROWS_AS(from_file("0\n"), UsageError);
  CHECK_THROWS_AS(from_file("0 1 1 1\n"), UsageError);
  CHECK_THROWS_AS(from_file("0 1.5\n"), UsageError);
  CHECK_THROWS_WITH(make("edges", 3, {{"edges", "no such file"}}),
                    ContainsSubstring("no such file"));
  for (const Json& bad : {Json{{0, 1}, {1}}, Json{{0, 1.5}}, Json{{0, 99999999999}}, Json{{0, "1"}},
                          Json{{0, 1, 1, 1}}, Json{"0 1", "1 2"}}) {
    CHECK_THROWS_WITH(make("edges", 3, {{"edges", bad}}), ContainsSubstring("expected [i, j]"));
  }
  CHECK_THROWS_AS(make("edges", 3, {{"edges", true}}), UsageError);
  std::remove(path.c_str());
}
