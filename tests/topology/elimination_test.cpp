#include "engine/topology/elimination.hpp"

#include <numeric>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/topology/samples.hpp"

using acid::Elimination;
using acid::Laplacian;
using acid::samples::make;
using acid::samples::rates_of;

TEST_CASE("elimination solves for potentials and gives every edge's resistance") {
  const int n = GENERATE(2, 3, 4, 7, 16, 36);
  for (const acid::Topology& topology : acid::samples::all_of_size(n)) {
    INFO(topology.kind() << " n=" << n);
    const auto rates = rates_of(topology, 1.3);
    const Laplacian laplacian(n, rates);
    const auto elimination = Elimination::of(laplacian, 1e9);
    REQUIRE(elimination);
    const acid::samples::Dense dense(n, rates);
    const auto resistances = elimination->resistances(rates);
    for (std::size_t e = 0; e < rates.size(); ++e) {
      CHECK(resistances[e] == Approx(dense.resistances[e]).epsilon(1e-10));
    }
    acid::Stream stream(7);
    std::vector<double> currents(static_cast<std::size_t>(n)), potentials(currents), back(currents);
    for (double& current : currents) current = stream.normal();
    const double mean = std::accumulate(currents.begin(), currents.end(), 0.0) / n;
    elimination->solve(currents.data(), potentials.data());
    laplacian.apply(potentials.data(), back.data());
    CHECK(std::accumulate(potentials.begin(), potentials.end(), 0.0) == Approx(0).margin(1e-10));
    for (std::size_t i = 0; i < back.size(); ++i) {
      CHECK(back[i] == Approx(currents[i] - mean).margin(1e-10));
    }
  }
}

TEST_CASE("elimination keeps its digits on badly conditioned networks") {
  // Conductances over 24 orders of magnitude in series: resistances of a tree are their inverses.
  std::vector<acid::Edge> rates;
  for (int i = 1; i < 50; ++i) rates.push_back({i - 1, i, std::pow(10.0, i % 25 - 12)});
  const auto elimination = Elimination::of(Laplacian(50, rates), 1e9);
  REQUIRE(elimination);
  const auto resistances = elimination->resistances(rates);
  for (std::size_t e = 0; e < rates.size(); ++e) {
    CHECK(resistances[e] * rates[e].weight == Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("elimination gives up when its budget is spent, and asserts connectedness") {
  const Laplacian complete(100, rates_of(make("complete", 100), 1));
  CHECK_FALSE(Elimination::of(complete, 1e4));
  CHECK(Elimination::of(complete, 1e7));
  const std::vector<acid::Edge> apart{{0, 1, 1}, {2, 3, 1}};
  CHECK_THROWS_AS(Elimination::of(Laplacian(4, apart), 1e9), acid::AssertionError);
}
