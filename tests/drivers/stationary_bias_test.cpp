// CORRECTNESS 11 and 32: where gradients are taken in the stationary state of heterogeneous
// quadratics, through the virtual driver's Poisson clock.
#include <array>
#include <cmath>
#include <numbers>

#include "engine/topology/spectral.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;

namespace {

constexpr int kRing = 8, kBiasDimension = 16;
constexpr double kBiasRate = 0.1, kBiasUnits = 4000;

/// The sum of the parameters at which each worker's gradients were taken.
class GradientPoints final : public test::Forwarding {
 public:
  explicit GradientPoints(std::unique_ptr<Objective> inner)
      : Forwarding(std::move(inner)), sums_(kRing, std::vector<double>(kBiasDimension)) {}
  double gradient(int lane, int w, std::int64_t step, std::span<const float> x, std::span<float> b,
                  std::span<float> g) override {
    constexpr std::int64_t kUntilStationary = 200;
    const auto index = static_cast<std::size_t>(w);
    if (step >= kUntilStationary) {
      ++counts_[index];
      for (std::size_t k = 0; k < x.size(); ++k) sums_[index][k] += x[k];
    }
    return Forwarding::gradient(lane, w, step, x, b, g);
  }

  std::vector<double> mean_of(int w) const {
    std::vector<double> mean = sums_[static_cast<std::size_t>(w)];
    for (double& value : mean) value /= counts_[static_cast<std::size_t>(w)];
    return mean;
  }
  /// bᵢ: the gradient at 0 is −bᵢ.
  std::vector<double> optimum_of(int w) {
    std::vector<float> zero(kBiasDimension), g(kBiasDimension);
    inner_->gradient(0, w, 0, zero, {}, g);
    std::vector<double> optimum;
    for (const float value : g) optimum.push_back(-value);
    return optimum;
  }

 private:
  std::vector<std::vector<double>> sums_;
  std::array<double, kRing> counts_{};
};

/// Mode k of a ring: Σᵢ e^(−2πi·ki/n)·rows[i], as its cosine and sine parts, all elements.
std::vector<double> mode_of(const std::vector<std::vector<double>>& rows, int k) {
  std::vector<double> mode(2 * kBiasDimension);
  for (int i = 0; i < kRing; ++i) {
    const double angle = 2 * std::numbers::pi * k * i / kRing;
    for (std::size_t d = 0; d < kBiasDimension; ++d) {
      const double value = rows[static_cast<std::size_t>(i)][d];
      mode[d] += std::cos(angle) * value;
      mode[kBiasDimension + d] += std::sin(angle) * value;
    }
  }
  return mode;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

using Biases = std::array<double, 4>;

/// The biases of modes 1 … 4, in units of the optimum's, in one run.
Biases biases(const char* algorithm, std::uint64_t seed) {
  const Topology ring = make_topology(kRing, {{"kind", "ring"}});
  const Spectral nominal = spectral(ring, 1);
  const AlgorithmEntry* entry = find_algorithm(algorithm);
  RunSpec spec;
  spec.workers = kRing;
  spec.topology = &ring;
  spec.method = entry->make(with_fallbacks(entry->fields, nlohmann::json::object()), &nominal);
  spec.seeds = Seeds(seed);
  spec.schedule.learning_rate = kBiasRate;
  spec.budget.normalised_time = kBiasUnits;
  spec.budget.gradients = kRing * static_cast<std::int64_t>(kBiasUnits);
  spec.cadence.consensus_every = kBiasUnits;
  VirtualOptions options;
  options.gradient_clock = GradientClock::poisson;
  options.threads = 0;
  test::MemoryRecorder recorder;
  GradientPoints points(test::quadratic({{"dimension", kBiasDimension}, {"heterogeneity", 1.0}},
                                        kRing, spec.seeds, 1));
  run_virtual({spec, points, recorder}, options);
  std::vector<std::vector<double>> means, optima;
  for (int w = 0; w < kRing; ++w) {
    means.push_back(points.mean_of(w));
    optima.push_back(points.optimum_of(w));
  }
  Biases found{};
  for (int k = 1; k <= 4; ++k) {
    const std::vector<double> optimum = mode_of(optima, k);
    found[static_cast<std::size_t>(k - 1)] =
        product(mode_of(means, k), optimum) / product(optimum, optimum);
  }
  return found;
}

}  // namespace

TEST_CASE("CORRECTNESS 32: the stationary bias is the formula's in every mode", "[release]") {
  struct Case {
    const char* algorithm;
    Biases expected;  // γ/(κν + γ) for ν = 1 − cos(2πk/8)
  };
  for (const Case& c : {Case{"ad-psgd", {.4058, .1667, .1049, .0909}},
                        Case{"a2cid2", {.3146, .1185, .0730, .0630}}}) {
    constexpr int kSeeds = 24;
    Biases sum{}, squares{};
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Biases found = biases(c.algorithm, seed);
      for (std::size_t k = 0; k < 4; ++k) {
        sum[k] += found[k];
        squares[k] += found[k] * found[k];
      }
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const double mean = sum[k] / kSeeds;
      const double error = std::sqrt((squares[k] / kSeeds - mean * mean) / (kSeeds - 1));
      INFO(c.algorithm << " mode " << k + 1 << ", seeds 1 … " << kSeeds << ": " << mean << " ± "
                       << error << ", exact " << c.expected[k]);
      CHECK(error < 0.006 * c.expected[k]);  // else the next line would show little
      CHECK(std::abs(mean - c.expected[k]) < 3 * error + 0.00005);
    }
  }
}
