// The theory's dynamics, through the virtual driver.
#include <cmath>

#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;
using test::Setup;

namespace {

struct Average {
  double sum = 0, squares = 0;
  int n = 0;
  void add(double value) {
    sum += value;
    squares += value * value;
    ++n;
  }
  double mean() const { return sum / n; }
  double standard_error() const { return std::sqrt((squares / n - mean() * mean()) / n); }
};

void consensus_setup(Setup& setup, const char* kind, int workers, const char* algorithm) {
  setup.topology = {{"kind", kind}};
  setup.workers = workers;
  setup.algorithm = algorithm;
  setup.task = {{"dimension", 4}, {"curvature", 0.0}, {"initial_spread", 1.0}};
  setup.virtual_time.gradient_clock = GradientClock::poisson;
}

}  // namespace

TEST_CASE("CORRECTNESS 7: expected consensus decays as computed (Monte-Carlo)", "[release]") {
  struct Case {
    const char* kind;
    int workers;
    const char* algorithm;
    std::vector<std::pair<double, double>> expected;
  };
  const std::vector<Case> cases = {
      {"ring",
       8,
       "ad-psgd",
       {{1, 5.914186e-01}, {2, 3.773372e-01}, {5, 1.292237e-01}, {10, 3.082214e-02}}},
      {"ring",
       8,
       "a2cid2",
       {{1, 5.963691e-01}, {2, 3.899533e-01}, {5, 1.313426e-01}, {10, 2.237275e-02}}},
      {"exponential", 16, "ad-psgd", {{1, 5.927662e-01}, {2, 3.569784e-01}, {5, 8.223667e-02}}},
      {"exponential", 16, "a2cid2", {{1, 5.940745e-01}, {2, 3.607920e-01}, {5, 8.559694e-02}}}};
  for (const Case& c : cases) {
    std::map<double, Average> ratios;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      Setup setup;
      consensus_setup(setup, c.kind, c.workers, c.algorithm);
      setup.seed = seed;
      setup.spec.budget.normalised_time = c.expected.back().first + 0.5;
      setup.spec.budget.gradients = 1000;
      setup.spec.cadence.consensus_every = 1;
      setup.run();
      const double start = setup.recorder.at("consensus_distance", 0);
      for (const auto& [time, ratio] : c.expected)
        ratios[time].add(setup.recorder.at("consensus_distance", time) / start);
    }
    for (const auto& [time, expected] : c.expected) {
      const Average& ratio = ratios[time];
      INFO(c.kind << " " << c.algorithm << " t = " << time << ", seeds 1 … 400, mean "
                  << ratio.mean() << " ± " << ratio.standard_error() << ", exact " << expected);
      CHECK(std::abs(ratio.mean() - expected) < 4 * ratio.standard_error());
    }
  }
}

TEST_CASE("CORRECTNESS 10: stationary noise has the computed consensus distance", "[release]") {
  struct Case {
    const char* kind;
    double momentum;
    const char* algorithm;
    double rate, expected;
  };
  for (const Case& c : {Case{"ring", 0.0, "ad-psgd", 1, 2.07812},
                        {"ring", 0.0, "a2cid2", 1, 2.04227},
                        {"ring", 0.0, "ad-psgd", 2, 1.03906},
                        {"ring", 0.9, "ad-psgd", 1, 64.66790},
                        {"ring", 0.9, "a2cid2", 1, 44.74471},
                        {"ring", 0.9, "ad-psgd", 2, 21.76026},
                        {"complete", 0.0, "ad-psgd", 1, 1.53125},
                        {"complete", 0.0, "a2cid2", 1, 1.53125},
                        {"complete", 0.0, "ad-psgd", 2, 0.76562}}) {
    constexpr int kDimension = 16;
    const std::uint64_t runs = c.momentum > 0 ? 24 : 8;  // with it, runs differ by 5 %
    constexpr double kRate = 0.01, kNoise = 3.0;
    Average distance;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
      Setup setup;
      consensus_setup(setup, c.kind, 8, c.algorithm);
      setup.task = {{"dimension", kDimension}, {"curvature", 0.0}, {"noise", kNoise}};
      setup.options = {{"communication_rate", c.rate}};
      setup.seed = seed;
      setup.spec.schedule.learning_rate = kRate;
      setup.spec.optimizer.momentum = c.momentum;
      setup.spec.budget.normalised_time = 1500;
      setup.spec.budget.gradients = 12'000;
      setup.run();
      Average run;
      for (const auto& point : setup.recorder.series("consensus_distance"))
        if (point.position.normalised_time > 150) run.add(point.value);
      distance.add(run.mean() / (kDimension * kRate * kRate * kNoise * kNoise));
    }
    INFO(c.kind << " " << c.algorithm << " momentum " << c.momentum << " rate " << c.rate << ": "
                << distance.mean() << " ± " << distance.standard_error());
    CHECK(distance.mean() == Approx(c.expected).epsilon(0.05));
  }
}

TEST_CASE("CORRECTNESS 11: the mean model follows e^(−γt), whatever the graph and method") {
  constexpr double kRate = 0.05, kTime = 20;
  for (const char* kind : {"ring", "complete"})
    for (const char* algorithm : {"ad-psgd", "a2cid2"}) {
      Average loss_ratio;
      for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Setup setup;
        setup.topology = {{"kind", kind}};
        setup.algorithm = algorithm;
        setup.seed = seed;
        setup.task = {{"dimension", 32}, {"heterogeneity", 1.0}};
        setup.virtual_time.gradient_clock = GradientClock::poisson;
        setup.spec.schedule.learning_rate = kRate;
        setup.spec.budget.normalised_time = kTime;
        setup.spec.budget.gradients = 160;
        const Outcome outcome = setup.run();
        // The start is one vector for all; compare projections on it: E x̄ₜ = e^(−γt) x̄₀.
        std::vector<float> x0(32);
        test::quadratic(setup.task, 8, Seeds(seed), 1)->start(0, x0, {});
        double product = 0, norm = 0;
        for (std::size_t k = 0; k < 32; ++k) {
          product += static_cast<double>(outcome.mean[k]) * x0[k];
          norm += static_cast<double>(x0[k]) * x0[k];
        }
        loss_ratio.add(product / norm);
      }
      INFO(kind << " " << algorithm << " " << loss_ratio.mean() << " ± "
                << loss_ratio.standard_error());
      CHECK(std::abs(loss_ratio.mean() - std::exp(-kRate * kTime)) <
            4 * loss_ratio.standard_error() + 1e-3);
    }
}

TEST_CASE("a longer exchange keeps A²CiD² stable and close to instantaneous ones", "[release]") {
  // Momentum noise on rings; one exchange in flight per worker makes this hold (docs/SEMANTICS.md).
  const auto consensus = [](double exchange_seconds) {
    Average all;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      Setup setup;
      setup.workers = 16;
      setup.algorithm = "a2cid2";
      setup.seed = seed;
      setup.task = {{"dimension", 8}, {"curvature", 0.0}, {"noise", 1.0}};
      setup.virtual_time.compute.kind = ComputeKind::lognormal;
      setup.virtual_time.compute.parameter = 0.2;
      setup.virtual_time.network.link.latency_seconds = exchange_seconds;
      setup.spec.optimizer.momentum = 0.9;
      setup.spec.schedule.learning_rate = 0.01;
      setup.spec.budget.gradients = 16 * 1200;
      setup.run();
      for (const auto& point : setup.recorder.series("consensus_distance"))
        if (point.position.normalised_time > 200) all.add(point.value);
    }
    return all.mean();
  };
  const double instantaneous = consensus(0);
  for (const double duration : {0.1, 0.3, 0.5}) {
    INFO("exchanges of " << duration << " gradient times");
    CHECK(consensus(duration) == Approx(instantaneous).epsilon(0.10));
  }
}
