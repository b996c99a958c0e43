// Exact properties of single methods, in double precision.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/methods/bowls.hpp"

using namespace acid;
using namespace acid::test;

TEST_CASE("CORRECTNESS 33: on different data D-PSGD ends beside the optimum, tracking in it",
          "[release]") {
  const Bowls bowls;
  const auto end = [&](Walk it) {
    it.go(20'000, kRate, bowls.of_workers());
    return it.distance(bowls.optimum());
  };
  const double combined = end(walk("d-psgd"));
  const double adapted = end(walk("d-psgd", {{"order", "adapt-then-combine"}}));
  INFO("combine-while-adapt " << combined << ", adapt-then-combine " << adapted);
  CHECK(adapted < combined);
  CHECK(adapted > 1e-3);
  CHECK(end(walk("gradient-tracking")) < 1e-20);
}

TEST_CASE("CORRECTNESS 34: what workers track sums to their gradients, after every step") {
  const Bowls bowls;
  Walk it = walk("gradient-tracking");
  for (int step = 0; step < 200; ++step) {
    it.go(1, kRate, bowls.of_workers());
    for (std::size_t k = 0; k < kDimension; ++k) {
      double tracked = 0, gradients = 0;
      for (int i = 0; i < kWorkers; ++i) {
        tracked += it.workers[static_cast<std::size_t>(i)].slot("y")[k];
        gradients += it.gradients[static_cast<std::size_t>(i)][k];
      }
      CHECK(tracked == Approx(gradients).margin(1e-12));
    }
  }
}

TEST_CASE("CORRECTNESS 27: Decent-Adam is Adam where all workers see the same gradients only") {
  const Bowls bowls;
  const auto adam_of = [&](const Walk::Gradient& gradient) {  // of the first worker, alone
    std::vector<double> x(kDimension), m(kDimension), v(kDimension);
    for (int step = 1; step <= 100; ++step) {
      const std::vector<double> g = gradient(0, x);
      for (std::size_t k = 0; k < kDimension; ++k) {
        m[k] = 0.9 * m[k] + 0.1 * g[k];
        v[k] = 0.999 * v[k] + 0.001 * g[k] * g[k];
        x[k] -= kRate * (m[k] / (1 - std::pow(0.9, step))) /
                (std::sqrt(v[k] / (1 - std::pow(0.999, step))) + 1e-8);
      }
    }
    return x;
  };
  const Walk::Gradient same = [&](int, const std::vector<double>& x) {
    return bowls.gradient(0, x);
  };
  Walk equal = walk("decent-adam"), different = walk("decent-adam");
  equal.go(100, kRate, same);
  different.go(100, kRate, bowls.of_workers());
  const std::vector<double> alone = adam_of(same);
  for (int i = 0; i < kWorkers; ++i)
    for (std::size_t k = 0; k < kDimension; ++k)
      CHECK(equal.x(i)[k] == Approx(alone[k]).margin(1e-12));
  CHECK(different.distance(alone) > 1e-2);
  CHECK(different.distance(different.mean()) > 1e-6);  // moments and steps are each worker's own
}
