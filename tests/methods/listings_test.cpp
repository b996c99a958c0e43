// Exact properties of listings, in double precision (CORRECTNESS 28, 33 to 36).
#include <cmath>

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/methods/bowls.hpp"

using namespace acid;
using namespace acid::test;
using nlohmann::json;

namespace {

double bias(Walk it, int legs = 20'000) {
  static const Bowls bowls;
  it.go(legs, kRate, bowls.of_workers());
  return it.distance(bowls.optimum());
}

double difference(Walk&& a, Walk&& b) { return differ_by(std::move(a), std::move(b), 60); }

OptimizerSettings momentum(double beta) {
  OptimizerSettings optimizer;
  optimizer.momentum = beta;
  return optimizer;
}

Walk adapt_then_combine() { return walk("d-psgd", {{"order", "adapt-then-combine"}}); }

}  // namespace

TEST_CASE("CORRECTNESS 28: local SGD with one step and nothing outside of it is AR-SGD") {
  const json plain = {{"steps", 1}, {"eta", 1.0}, {"beta", 0.0}};
  CHECK(difference(walk("local-sgd", {{"steps", 1}}), walk("ar-sgd")) < 1e-13);
  CHECK(difference(walk("diloco", plain), walk("ar-sgd")) < 1e-13);
  CHECK(difference(walk("slowmo", {{"steps", 1}, {"alpha", 1.0}, {"beta", 0.0}}), walk("ar-sgd")) <
        1e-13);
  for (const auto& [key, value] : {std::pair{"steps", 2.0}, {"eta", 0.5}, {"beta", 0.5}}) {
    INFO(key << " = " << value);
    json other = plain;
    other[key] = value;
    CHECK(difference(walk("diloco", other), walk("ar-sgd")) > 1e-3);
  }
}

TEST_CASE("CORRECTNESS 33: who ends in D-PSGD's fixed point, who beside it, who in the optimum",
          "[release]") {
  const double adapted = bias(adapt_then_combine());
  CHECK(adapted > 1e-3);
  CHECK(adapted < bias(walk("d-psgd")));
  CHECK(bias(walk("d-psgd", {{"order", "adapt-then-combine"}}, momentum(0.9))) > 5 * adapted);
  for (const double beta : {0.0, 0.9})
    CHECK(bias(walk("decentlam", json::object(), momentum(beta))) == Approx(adapted).epsilon(1e-9));
  CHECK(bias(walk("qg-dsgdm")) == Approx(adapted).epsilon(1e-9));
  for (const double rho : {0.0, 0.3, 0.6})
    CHECK(bias(walk("gasloc", {{"rho", rho}})) == Approx(adapted).epsilon(1e-9));
  for (const char* exact : {"gradient-tracking", "d2", "exact-diffusion", "extra"}) {
    INFO(exact);
    CHECK(bias(walk(exact)) < (exact == std::string("gradient-tracking") ? 1e-20 : 1e-18));
  }
}

TEST_CASE("CORRECTNESS 19, 34: the mean moves by the mean gradient, every step") {
  const Bowls bowls;
  for (const char* method : {"d-psgd", "d2", "exact-diffusion"}) {
    INFO(method);
    Walk it = walk(method);
    for (int step = 0; step < 100; ++step) {
      const std::vector<double> before = it.mean();
      it.go(1, kRate, bowls.of_workers());
      for (std::size_t k = 0; k < kDimension; ++k) {
        double gradient = 0;
        for (const auto& g : it.gradients) gradient += g[k] / kWorkers;
        CHECK(it.mean()[k] == Approx(before[k] - kRate * gradient).margin(1e-10));
      }
    }
  }
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

TEST_CASE("CORRECTNESS 35: CHOCO without a codec is D-PSGD, in the order that it has") {
  CHECK(difference(walk("choco-sgd", {{"rho", 1.0}}), adapt_then_combine()) < 1e-13);
  CHECK(difference(walk("choco-sgd-overlapped", {{"rho", 1.0}}), walk("d-psgd")) < 1e-13);
  CHECK(difference(walk("choco-sgd-overlapped", {{"rho", 1.0}}), adapt_then_combine()) > 1e-3);
}

TEST_CASE("CORRECTNESS 36: methods are others where their parameters make them so") {
  const json every_step = {{"steps", 1}};
  CHECK(difference(walk("decentlam"), adapt_then_combine()) < 1e-13);
  CHECK(difference(walk("slowmo", {{"beta", 0.0}, {"alpha", 1.0}, {"steps", 4}}),
                   walk("local-sgd", {{"steps", 4}})) < 1e-13);
  CHECK(difference(walk("diloco", {{"beta", 0.0}, {"eta", 1.0}, {"steps", 4}}),
                   walk("local-sgd", {{"steps", 4}})) < 1e-13);
  CHECK(difference(walk("streaming-diloco", {{"delay", 0}, {"alpha", 0.0}, {"steps", 5}}),
                   walk("diloco", {{"steps", 5}})) < 1e-13);
  CHECK(difference(walk("gasloc", {{"rho", 0.0}}), adapt_then_combine()) < 1e-13);
  CHECK(difference(walk("local-sgd", every_step), walk("ar-sgd")) < 1e-13);
  CHECK(difference(walk("sparta"), walk("local-sgd", every_step)) < 1e-13);
  CHECK(difference(walk("sparseloco", {{"steps", 3}, {"beta", 1.0}}),
                   walk("local-sgd", {{"steps", 3}})) < 1e-13);
  CHECK(difference(walk("loscar-sgd", {{"delay", 0}, {"steps", 3}}),
                   walk("local-sgd", {{"steps", 3}})) < 1e-13);
  CHECK(difference(walk("streaming-diloco", {{"delay", 2}, {"steps", 5}}),
                   walk("diloco", {{"steps", 5}})) > 1e-3);
}

TEST_CASE("reductions are the same numbers however often a part needs them") {
  // Clipping: no step is longer than lr.
  const json clipped = {{"round", "gradient step say hear"},
                        {"step", {"size = norm(g)", "x = x - lr * g * min(1, 1 / size)"}}};
  const Bowls bowls;
  Walk it = walk_listing(clipped);
  it.go(1, kRate, bowls.of_workers());
  double moved = 0;
  for (std::size_t k = 0; k < kDimension; ++k) moved += it.mean()[k] * it.mean()[k];
  CHECK(std::sqrt(moved) <= kRate);
  const json twice = {
      {"round", "gradient step say hear"},
      {"keep", {{"v", 0}}},
      {"step",
       {"v = g", "s = dot(v, g)", "v = v / sqrt(s)", "n1 = norm(v)", "x = x - lr * v / n1"}}};
  Walk unit = walk_listing(twice);
  unit.go(1, kRate, bowls.of_workers());
  double length = 0;
  for (const double value : unit.workers[2].slot("v")) length += value * value;
  CHECK(length == Approx(1));
}
