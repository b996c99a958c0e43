#include "engine/topology/spectral.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/topology/components.hpp"
#include "engine/topology/laplacian.hpp"

namespace acid {
namespace {

Spectral from_extremes(const Extremes& extremes, double lambda_sum) {
  Spectral numbers;
  numbers.lambda_sum = lambda_sum;
  numbers.lambda2 = extremes.lambda2;
  numbers.chi1 = 1 / extremes.lambda2;
  numbers.chi2 = extremes.largest_resistance / 2;
  numbers.eta = 1 / (2 * std::sqrt(numbers.chi1 * numbers.chi2));
  numbers.alpha_tilde = std::sqrt(numbers.chi1 / numbers.chi2) / 2;
  return numbers;
}

/// Complete graph with λᵢⱼ = r/(n − 1): Λ = λ(n·I − 11ᵀ).
Extremes complete_extremes(int workers, double rate) {
  const double lambda2 = rate * workers / (workers - 1);
  return {lambda2, 2 / lambda2};
}

Extremes general_extremes(int workers, std::span<const Edge> rates) {
  const auto direct = direct_extremes(workers, rates);
  return direct ? *direct : iterative_extremes(workers, rates);
}

}  // namespace

std::array<Spectral::Named, 6> Spectral::named() const {
  return {{{"lambda_sum", "Σλ", lambda_sum},
           {"lambda2", "λ₂", lambda2},
           {"chi1", "χ₁", chi1},
           {"chi2", "χ₂", chi2},
           {"eta", "η", eta},
           {"alpha_tilde", "α̃", alpha_tilde}}};
}

Spectral spectral(const Topology& topology, double rate) {
  const int n = topology.workers();
  ACID_ASSERT(n >= 2 && rate > 0, "{} workers, rate {}", n, rate);
  const double lambda_sum = rate * n / 2;
  if (topology.is_complete()) return from_extremes(complete_extremes(n, rate), lambda_sum);
  if (!topology.cycles().empty()) {
    return from_extremes(translation_extremes(topology, rate), lambda_sum);
  }
  std::vector<Edge> rates;
  rates.reserve(static_cast<std::size_t>(topology.edge_count()));
  topology.for_each_edge([&](const Edge& edge) {
    const double share = 1 / topology.degree(edge.i) + 1 / topology.degree(edge.j);
    rates.push_back({edge.i, edge.j, rate / 2 * edge.weight * share});
  });
  return from_extremes(general_extremes(n, rates), lambda_sum);
}

Spectral spectral_of_rates(int workers, std::span<const Edge> rates) {
  if (workers < 2) return {};
  std::vector<Edge> positive;
  double lambda_sum = 0;
  for (const Edge& edge : rates) {
    ACID_ASSERT(edge.weight >= 0 && std::isfinite(edge.weight), "rate {} on edge [{}, {}]",
                edge.weight, edge.i, edge.j);
    if (edge.weight > 0) positive.push_back(edge);
    lambda_sum += edge.weight;
  }
  if (connected_components(workers, positive).size() == 1) {
    return from_extremes(general_extremes(workers, positive), lambda_sum);
  }
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Spectral apart;
  apart.lambda_sum = lambda_sum;
  apart.chi1 = apart.chi2 = apart.alpha_tilde = kInfinite;
  return apart;
}

}  // namespace acid
