// What is exact of single methods, in double precision.
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/methods/walk.hpp"

using namespace acid;
using test::Walk;

namespace {

constexpr int kWorkers = 8;
constexpr std::size_t kDimension = 5;
constexpr double kRate = 0.05;

/// fᵢ(x) = ½ Σₖ hᵢₖ (xₖ − bᵢₖ)², different for every worker.
struct Bowls {
  std::vector<std::vector<double>> h, b;
  Bowls() {
    Stream stream(33);
    for (int i = 0; i < kWorkers; ++i) {
      h.emplace_back();
      b.emplace_back();
      for (std::size_t k = 0; k < kDimension; ++k) {
        h.back().push_back(0.5 + 1.5 * stream.uniform());
        b.back().push_back(3 * stream.normal());
      }
    }
  }
  std::vector<double> gradient(int worker, const std::vector<double>& x) const {
    const auto i = static_cast<std::size_t>(worker);
    std::vector<double> g;
    for (std::size_t k = 0; k < x.size(); ++k) g.push_back(h[i][k] * (x[k] - b[i][k]));
    return g;
  }
  /// Where Σ fᵢ is least.
  std::vector<double> optimum() const {
    std::vector<double> x;
    for (std::size_t k = 0; k < kDimension; ++k) {
      double weighted = 0, sum = 0;
      for (std::size_t i = 0; i < h.size(); ++i) {
        weighted += h[i][k] * b[i][k];
        sum += h[i][k];
      }
      x.push_back(weighted / sum);
    }
    return x;
  }
  Walk::Gradient of_workers() const {
    return [this](int worker, const std::vector<double>& x) { return gradient(worker, x); };
  }
};

Walk walk(std::string_view name, const nlohmann::json& options = nlohmann::json::object()) {
  static const Topology ring = make_topology(kWorkers, {{"kind", "ring"}});
  return {ring, name, options, std::vector<double>(kDimension)};
}

}  // namespace

TEST_CASE("CORRECTNESS 33: on different data D-PSGD ends beside the optimum, tracking in it") {
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
        tracked += it.workers[static_cast<std::size_t>(i)].slot("tracked")[k];
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
