#include <cmath>
#include <numbers>

#include "tests/catch.hpp"
#include "tests/topology/samples.hpp"

using acid::MixingMatrix;
using acid::Topology;
using acid::samples::dense;

namespace {

void check_doubly_stochastic(const Eigen::MatrixXd& w) {
  CHECK(w.isApprox(w.transpose(), 1e-12));
  CHECK(w.minCoeff() >= 0);
  CHECK((w.rowwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
  CHECK((w.colwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
}

}  // namespace

TEST_CASE("CORRECTNESS 17: mixing matrices are symmetric, doubly stochastic and nonnegative") {
  const int n = GENERATE(1, 2, 3, 4, 7, 16);
  for (const Topology& topology : acid::samples::all_of_size(n)) {
    INFO(topology.kind() << " n=" << n);
    check_doubly_stochastic(dense(acid::metropolis_weights(topology)));
    try {
      check_doubly_stochastic(dense(acid::uniform_weights(topology)));
    } catch (const acid::UsageError& error) {
      CHECK_THAT(error.what(), ContainsSubstring("Metropolis"));
    }
  }
}

TEST_CASE("CORRECTNESS 17: a ring with weights 1/3 has second eigenvalue 1/3 + 2/3 cos(2π/n)") {
  const auto [n, published] =
      GENERATE(table<int, double>({{4, .3333}, {8, .8047}, {16, .9493}, {32, .9872}}));
  const Eigen::MatrixXd w = dense(acid::uniform_weights(acid::samples::make("ring", n)));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(w);
  CHECK(w(0, 0) == Approx(1.0 / 3));
  CHECK(w(0, 1) == Approx(1.0 / 3));
  const double second = solver.eigenvalues()[n - 2];
  CHECK(second == Approx(1.0 / 3 + 2.0 / 3 * std::cos(2 * std::numbers::pi / n)).epsilon(1e-10));
  CHECK(std::abs(second - published) < 5e-5);
}

TEST_CASE("Metropolis weights on a star are 1/n, and uniform ones are refused") {
  const Topology star = acid::samples::make("star", 5);
  const MixingMatrix w = acid::metropolis_weights(star);
  CHECK(w.self[0] == Approx(0.2));
  CHECK(w.self[1] == Approx(0.8));
  CHECK(w.neighbours[3][0].weight == Approx(0.2));
  CHECK_THROWS_AS(acid::uniform_weights(star), acid::UsageError);
}

TEST_CASE("the least eigenvalue of mixing matrices is known where it has a closed form") {
  const auto least = [](int workers, const char* kind) {
    return acid::least_eigenvalue(
        acid::metropolis_weights(acid::make_topology(workers, {{"kind", kind}})));
  };
  for (const int n : {4, 8, 16, 64}) CHECK(least(n, "ring") == Approx(-1.0 / 3));
  for (const int n : {5, 7, 31})
    CHECK(least(n, "ring") ==
          Approx(1.0 / 3 + 2.0 / 3 * std::cos(std::numbers::pi * (n - 1) / n)).epsilon(1e-6));
  CHECK(least(2, "ring") == Approx(0).margin(1e-9));
  CHECK(least(9, "complete") == Approx(0).margin(1e-9));
}
