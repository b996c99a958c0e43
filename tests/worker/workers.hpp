#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/methods/method.hpp"
#include "engine/worker/worker.hpp"

namespace acid::test {

inline Rules rules_of(std::string_view method, const nlohmann::json& options = {}) {
  const AlgorithmEntry& entry = *find_algorithm(method);
  return entry.make(with_fallbacks(entry.fields, options), nullptr).rules;
}

/// The numbers of A²CiD² or, with η = 0, AD-PSGD.
struct Mixing {
  double alpha = 0.5, alpha_tilde = 0.5, eta = 0;
  Rules rules() const {
    return rules_of("a2cid2", {{"alpha", alpha}, {"alpha_tilde", alpha_tilde}, {"eta", eta}});
  }
};

/// Workers in double precision that start at given or random points.
struct Workers {
  WorkerSettings settings;
  std::unique_ptr<WorkerMemory<double>> memory;
  std::vector<BasicWorker<double>> list;

  Workers(int count, std::size_t dimension, Mixing mixing, OptimizerSettings optimizer = {})
      : Workers(count, dimension, mixing.rules(), optimizer) {}
  Workers(int count, std::size_t dimension, const Rules& rules, OptimizerSettings optimizer = {}) {
    settings.dimension = dimension;
    settings.follow(rules);
    settings.optimizer = optimizer;
    settings.decay = {{0, dimension, optimizer.weight_decay}};
    const auto n = static_cast<std::size_t>(count);
    memory = std::make_unique<WorkerMemory<double>>(settings, n);
    for (std::size_t i = 0; i < n; ++i) list.emplace_back(settings, *memory, i);
  }

  BasicWorker<double>& operator[](int i) { return list[static_cast<std::size_t>(i)]; }

  void start_random(std::uint64_t seed) {
    Stream stream(seed);
    for (BasicWorker<double>& worker : list) {
      std::vector<double> x0(settings.dimension);
      for (double& value : x0) value = stream.normal();
      worker.start(x0);
    }
  }

  /// The sum over workers of element k of x, all mixed to time t.
  double sum_at(double t, std::size_t k) const {
    double sum = 0, value = 0;
    for (const BasicWorker<double>& worker : list) {
      worker.read_at(t, k, {&value, 1});
      sum += value;
    }
    return sum;
  }

  /// Σᵢ ‖xᵢ − x̄‖² of the stored vectors.
  double spread() const {
    double total = 0;
    for (std::size_t k = 0; k < settings.dimension; ++k) {
      double mean = 0;
      for (const auto& worker : list) mean += worker.x()[k] / static_cast<double>(list.size());
      for (const auto& worker : list) total += (worker.x()[k] - mean) * (worker.x()[k] - mean);
    }
    return total;
  }
};

inline constexpr Mixing kAccelerated{.alpha = 0.5, .alpha_tilde = 1.87, .eta = 0.14};
inline constexpr Mixing kAverage{.alpha = 0.5, .alpha_tilde = 0.5, .eta = 0};

}  // namespace acid::test
