#include <cmath>

#include "engine/run/ensemble.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/worker/workers.hpp"

using namespace acid;
using test::Setup;

namespace {

/// fᵢ(x) = ½ hᵢ (x − bᵢ)², scalar, in double: D-PSGD and AR-SGD written with the engine's events.
struct Scalars {
  std::vector<double> h, b;
  double gradient(std::size_t i, double x) const { return h[i] * (x - b[i]); }
};

std::vector<double> run_scalars(const Scalars& f, const Topology& graph, const std::string& method,
                                int steps, double rate) {
  const int n = graph.workers();
  test::Workers workers(n, 1, test::rules_of("d-psgd"));
  for (int i = 0; i < n; ++i) workers[i].start(std::vector<double>{1.0});
  const MixingMatrix w = metropolis_weights(graph);
  for (int step = 0; step < steps; ++step) {
    std::vector<double> g, x(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      g.push_back(f.gradient(static_cast<std::size_t>(i), workers[i].x()[0]));
    const auto combine = [&] {
      std::vector<const double*> vectors;
      for (int i = 0; i < n; ++i) {
        workers[i].offer(step, {&x[static_cast<std::size_t>(i)], 1});
        vectors.push_back(&x[static_cast<std::size_t>(i)]);
      }
      for (int i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        std::vector<kernels::Weighted<double>> heard{{vectors[k], w.excess(i)}};
        for (const Neighbour& neighbour : w.neighbours[k])
          heard.push_back({vectors[static_cast<std::size_t>(neighbour.worker)], neighbour.weight});
        workers[i].hear(step, {.sources = heard});
      }
    };
    if (method == "ar-sgd") {
      std::vector<const double*> gradients;
      for (const double& value : g) gradients.push_back(&value);
      double mean = 0;
      mean_in_order<double>(gradients, &mean, 0, 1);
      g.assign(static_cast<std::size_t>(n), mean);
    }
    if (method == "combine-while-adapt") combine();
    for (int i = 0; i < n; ++i)
      workers[i].commit_gradient(step, {&g[static_cast<std::size_t>(i)], 1}, rate);
    if (method == "adapt-then-combine") combine();
  }
  std::vector<double> x;
  for (int i = 0; i < n; ++i) x.push_back(workers[i].x()[0]);
  return x;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Topology named(const char* kind, int n) { return make_topology(n, {{"kind", kind}}); }

const Scalars kEqualHessians{{1, 1, 1, 1}, {1, -2, 3, 0.5}};
const Scalars kDifferentHessians{{1, 2, 0.5, 3}, {1, -2, 3, 0.5}};

}  // namespace

TEST_CASE("CORRECTNESS 19: D-PSGD moves the mean by the mean gradient, every step") {
  const Topology ring = named("ring", 4);
  for (const char* method : {"combine-while-adapt", "adapt-then-combine"})
    for (int steps = 0; steps < 20; ++steps) {
      const auto before = run_scalars(kDifferentHessians, ring, method, steps, 0.1);
      const auto after = run_scalars(kDifferentHessians, ring, method, steps + 1, 0.1);
      double gradient = 0;
      for (std::size_t i = 0; i < 4; ++i) gradient += kDifferentHessians.gradient(i, before[i]) / 4;
      CHECK(mean(after) == Approx(mean(before) - 0.1 * gradient).margin(1e-12));
    }
}

TEST_CASE("CORRECTNESS 19: on the complete graph adapt-then-combine is AR-SGD") {
  const auto gossip =
      run_scalars(kDifferentHessians, named("complete", 4), "adapt-then-combine", 50, 0.1);
  const auto reduced = run_scalars(kDifferentHessians, named("complete", 4), "ar-sgd", 50, 0.1);
  for (std::size_t i = 0; i < 4; ++i) CHECK(gossip[i] == Approx(reduced[i]).margin(1e-12));
}

TEST_CASE("CORRECTNESS 19: combine-while-adapt is AR-SGD only in the mean and equal Hessians") {
  const Topology complete = named("complete", 4);
  const auto equal = run_scalars(kEqualHessians, complete, "combine-while-adapt", 50, 0.1);
  const auto reduced = run_scalars(kEqualHessians, complete, "ar-sgd", 50, 0.1);
  CHECK(mean(equal) == Approx(mean(reduced)).margin(1e-12));
  CHECK(std::abs(equal[0] - reduced[0]) > 0.01);
  const auto different = run_scalars(kDifferentHessians, complete, "combine-while-adapt", 50, 0.1);
  const auto central = run_scalars(kDifferentHessians, complete, "ar-sgd", 50, 0.1);
  CHECK(std::abs(mean(different) - mean(central)) > 1e-3);
}

TEST_CASE("the drivers' AR-SGD keeps every worker at one point") {
  Setup setup;
  setup.algorithm = "ar-sgd";
  setup.task = {{"dimension", 10}, {"noise", 1.0}, {"heterogeneity", 1.0}};
  setup.spec.budget.gradients = 400;
  const Outcome outcome = setup.run();
  for (const std::string& digest : outcome.worker_digests)
    CHECK(digest == outcome.worker_digests[0]);
  for (const auto& point : setup.recorder.series("consensus_distance")) CHECK(point.value == 0);
}

TEST_CASE("a synchronous round sends what its pattern costs") {
  const auto bytes = [](const char* algorithm) {
    Setup setup;
    setup.algorithm = algorithm;
    setup.task = {{"dimension", 100}};
    setup.spec.budget.gradients = 8;
    return setup.run().position.bytes;
  };
  CHECK(bytes("ar-sgd") == 2 * 7 * 400);  // 2(n − 1)/n vectors of 400 bytes, n workers
  CHECK(bytes("d-psgd") == 8 * 2 * 400);  // to both neighbours
}
