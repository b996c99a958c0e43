#include "engine/topology/spectral.hpp"

#include <fstream>
#include <numbers>
#include <numeric>
#include <sstream>

#include "engine/topology/elimination.hpp"
#include "tests/catch.hpp"
#include "tests/processor_time.hpp"
#include "tests/topology/samples.hpp"

using acid::Extremes;
using acid::Spectral;
using acid::Topology;
using acid::samples::make;
using acid::samples::rates_of;

namespace {

/// Fails when the rest of the test case takes more processor time. The limit is generous, for slow
/// and sanitised machines: an algorithm that grows with the square of the workers takes hours.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds) : seconds_(seconds) {}
  ~TimeLimit() { CHECK(used_.seconds() < seconds_); }

 private:
  const double seconds_;
  const acid::test::ProcessorTime used_;
};

void check_equal(const Extremes& a, const Extremes& b, double tolerance) {
  CHECK(a.lambda2 == Approx(b.lambda2).epsilon(tolerance));
  CHECK(a.largest_resistance == Approx(b.largest_resistance).epsilon(tolerance));
}

/// The numbers that spectral() used, in the form of the other methods.
Extremes chosen(const Topology& topology, double rate) {
  const Spectral s = acid::spectral(topology, rate);
  return {s.lambda2, 2 * s.chi2};
}

}  // namespace

TEST_CASE("CORRECTNESS 2: the spectral numbers equal the reference table") {
  std::ifstream file(std::string(SOURCE_ROOT) + "/tests/topology/data/spectral.csv");
  std::string line;
  REQUIRE(std::getline(file, line));
  int rows = 0;
  while (std::getline(file, line)) {
    INFO(line);
    std::ranges::replace(line, ',', ' ');
    std::istringstream fields(line);
    std::string kind;
    int n = 0;
    std::int64_t edges = 0;
    double rate = 0, lambda_sum = 0, chi1 = 0, chi2 = 0, eta = 0, alpha_tilde = 0;
    REQUIRE(fields >> kind >> n >> rate >> edges >> lambda_sum >> chi1 >> chi2 >> eta >>
            alpha_tilde);
    const Topology topology = make(kind, n);
    CHECK(topology.edge_count() == edges);
    const Spectral s = acid::spectral(topology, rate);
    // The table has six decimals.
    CHECK(std::abs(s.lambda_sum - lambda_sum) < 1e-6);
    CHECK(std::abs(1 / s.lambda2 - chi1) < 1e-6);
    CHECK(std::abs(s.chi1 - chi1) < 1e-6);
    CHECK(std::abs(s.chi2 - chi2) < 1e-6);
    CHECK(std::abs(s.eta - eta) < 1e-6);
    CHECK(std::abs(s.alpha_tilde - alpha_tilde) < 1e-6);
    ++rows;
  }
  CHECK(rows == 32);
}

TEST_CASE("CORRECTNESS 2: χ₂ ≤ χ₁, α̃ = ηχ₁, and doubling the rate scales them") {
  const int n = GENERATE(2, 3, 4, 7, 16, 64);
  for (const Topology& topology : acid::samples::all_of_size(n)) {
    INFO(topology.kind() << " n=" << n);
    const Spectral once = acid::spectral(topology, 0.7), twice = acid::spectral(topology, 1.4);
    CHECK(once.lambda_sum == Approx(0.7 * n / 2));
    CHECK(once.chi2 <= once.chi1 * (1 + 1e-12));
    CHECK(once.alpha_tilde == Approx(once.eta * once.chi1).epsilon(1e-12));
    CHECK(twice.chi1 == Approx(once.chi1 / 2).epsilon(1e-10));
    CHECK(twice.chi2 == Approx(once.chi2 / 2).epsilon(1e-10));
    CHECK(twice.eta == Approx(once.eta * 2).epsilon(1e-10));
    CHECK(twice.alpha_tilde == Approx(once.alpha_tilde).epsilon(1e-10));
  }
}

TEST_CASE("CORRECTNESS 2: Foster's theorem, Σ λᵢⱼRᵢⱼ = n − 1") {
  const int n = GENERATE(2, 3, 4, 7, 16, 300);
  for (const Topology& topology : acid::samples::all_of_size(n)) {
    INFO(topology.kind() << " n=" << n);
    const auto rates = rates_of(topology, 1);
    const auto elimination = acid::Elimination::of(acid::Laplacian(n, rates), 1e9);
    REQUIRE(elimination);
    const auto resistances = elimination->resistances(rates);
    double sum = 0;
    for (std::size_t e = 0; e < rates.size(); ++e) sum += rates[e].weight * resistances[e];
    CHECK(sum == Approx(n - 1).epsilon(1e-10));
  }
}

TEST_CASE("every way to the spectral numbers agrees with dense linear algebra") {
  const int n = GENERATE(2, 3, 4, 6, 7, 8, 16, 36);
  for (const Topology& topology : acid::samples::all_of_size(n)) {
    INFO(topology.kind() << " n=" << n);
    const auto rates = rates_of(topology, 1.5);
    const acid::samples::Dense dense(n, rates);
    const Extremes expected{dense.lambda2, dense.largest_resistance()};
    check_equal(chosen(topology, 1.5), expected, 1e-9);
    check_equal(*acid::direct_extremes(n, rates), expected, 1e-9);
    check_equal(acid::iterative_extremes(n, rates), expected, 1e-6);
    const Spectral measured = acid::spectral_of_rates(n, rates);
    check_equal({measured.lambda2, 2 * measured.chi2}, expected, 1e-9);
  }
}

TEST_CASE("the sparse ways agree with the closed forms and with each other at n = 400 and 512",
          "[release]") {
  const int n = GENERATE(400, 512);
  for (const Topology& topology : acid::samples::all_of_size(n)) {
    INFO(topology.kind() << " n=" << n);
    const auto rates = rates_of(topology, 1);
    const Extremes direct = *acid::direct_extremes(n, rates);
    check_equal(chosen(topology, 1), direct, 1e-9);
    // Iterating is for expanders; elsewhere λ₂ would need thousands of steps.
    if (direct.lambda2 > 0.05) check_equal(acid::iterative_extremes(n, rates), direct, 1e-6);
  }
}

TEST_CASE("100,000 workers: rings by elimination have the digits of the closed form") {
  const TimeLimit limit(100);
  const int n = 100'000;
  std::vector<acid::Edge> edges;
  for (int i = 0; i < n; ++i) edges.push_back({i, (i + 1) % n});
  const Topology listed("edges", n, edges);
  const double sine = std::sin(std::numbers::pi / n);
  const Extremes expected{2 * sine * sine, 2 * (1 - 1.0 / n)};  // λ = ½, R = (n − 1)/n ÷ λ
  check_equal(chosen(listed, 1), {2 * sine * sine, 2 * (1 - 1.0 / n)}, 1e-9);
  check_equal(chosen(make("ring", n), 1), expected, 1e-9);
}

TEST_CASE("100,000 workers: chains, stars, trees and tori in seconds, to 1e-6", "[release]") {
  const TimeLimit limit(100);
  const int n = 100'000;
  // A star's Λ is λ(Laplacian of the unweighted star), λ = ½(1 + 1/(n − 1)), with λ₂ = λ.
  const double leaf_rate = 0.5 * (1 + 1.0 / (n - 1));
  check_equal(chosen(make("star", n), 1), {leaf_rate, 1 / leaf_rate}, 1e-9);
  CHECK(acid::spectral(make("chain", n), 1).chi2 == Approx(1).epsilon(1e-9));

  std::vector<acid::Edge> edges;
  for (int i = 1; i < n; ++i) edges.push_back({(i - 1) / 2, i});
  const Topology tree("edges", n, edges);  // each edge's resistance is its 1/λ
  double slowest = 1;
  for (const auto& edge : rates_of(tree, 1)) slowest = std::min(slowest, edge.weight);
  CHECK(acid::spectral(tree, 1).chi2 == Approx(0.5 / slowest).epsilon(1e-9));

  const Topology torus = make("torus", n);
  const Extremes closed = chosen(torus, 1);
  // λ = ¼ along the longer side of 250 × 400; Foster bounds the resistance from below.
  CHECK(closed.lambda2 == Approx(std::pow(std::sin(std::numbers::pi / 400), 2)).epsilon(1e-9));
  CHECK(closed.largest_resistance > 2.0 * (n - 1) / n);
}

TEST_CASE("40,000 workers: a torus by elimination has the digits of the closed form", "[release]") {
  const TimeLimit limit(100);
  const int n = 40'000;
  const Topology torus = make("torus", n);
  check_equal(chosen(torus, 1), *acid::direct_extremes(n, rates_of(torus, 1)), 1e-9);
}

TEST_CASE("100,000 workers: a chain's slowest mode decays like its continuum limit") {
  // λ ≈ ½ inside: λ₂ → ½(π/n)², with a relative correction of order 1/n from the ends.
  const int n = 100'000;
  const double continuum = 0.5 * std::pow(std::numbers::pi / n, 2);
  CHECK(acid::spectral(make("chain", n), 1).lambda2 == Approx(continuum).epsilon(1e-4));
}

TEST_CASE("100,000 workers: exponential graphs and hypercubes have their known gaps") {
  const TimeLimit limit(100);
  const Spectral hypercube = acid::spectral(make("hypercube", 1 << 17), 1);
  CHECK(hypercube.lambda2 == Approx(2.0 / 17).epsilon(1e-9));  // λ = 1/17 per dimension, ×2
  // Foster: n·17/2 edges of equal resistance R and rate 1/17 sum to n − 1.
  CHECK(hypercube.chi2 == Approx(1 - std::ldexp(1.0, -17)).epsilon(1e-9));
  CHECK(acid::spectral(make("exponential", 1 << 17), 1).chi1 == Approx(8.5).epsilon(1e-9));
}

TEST_CASE("random graphs too dense to eliminate come out by iteration", "[release]") {
  const TimeLimit limit(100);
  const int n = 5000;
  const Topology topology = make("random-regular", n, {{"degree", 6}, {"seed", 1}});
  const Extremes found = acid::iterative_extremes(n, rates_of(topology, 1));
  // Friedman: λ₂ of the adjacency matrix is close to 2√(d − 1); Λ = I − A/d here.
  CHECK(found.lambda2 == Approx(1 - 2 * std::sqrt(5.0) / 6).epsilon(0.02));
  CHECK(found.largest_resistance > 2.0 * (n - 1) / n);  // the mean, by Foster
  CHECK(found.largest_resistance < 2.2);
}

TEST_CASE("a bridge between dense halves is found among thousands of edges") {
  const int n = 300;
  const auto rates = rates_of(make("barbell", n), 1);
  const Extremes iterated = acid::iterative_extremes(n, rates);
  CHECK(iterated.largest_resistance == Approx(n / 2).epsilon(1e-6));
  check_equal(iterated, *acid::direct_extremes(n, rates), 1e-6);
}

TEST_CASE("realised rates that disconnect the graph give infinite numbers and no mixing") {
  const std::vector<acid::Edge> apart{{0, 1, 0.5}, {2, 3, 0.5}, {1, 2, 0}};
  const Spectral s = acid::spectral_of_rates(4, apart);
  CHECK(s.lambda_sum == 1);
  CHECK(s.lambda2 == 0);
  CHECK(std::isinf(s.chi1));
  CHECK(std::isinf(s.chi2));
  CHECK(std::isinf(s.alpha_tilde));
  CHECK(s.eta == 0);
  CHECK(std::isinf(acid::spectral_of_rates(2, {}).chi1));
  CHECK(acid::spectral_of_rates(1, {}).chi1 == 0);
  CHECK_THROWS_AS(acid::spectral_of_rates(2, std::vector<acid::Edge>{{0, 1, -1}}),
                  acid::AssertionError);
}
