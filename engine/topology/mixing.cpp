#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/topology/topology.hpp"

namespace acid {
namespace {

std::vector<int> neighbour_workers(const Topology& topology, int i) {
  std::vector<int> workers;
  workers.reserve(static_cast<std::size_t>(topology.neighbour_count(i)));
  if (topology.is_complete()) {
    for (int j = 0; j < topology.workers(); ++j) {
      if (j != i) workers.push_back(j);
    }
  }
  for (const Neighbour& neighbour : topology.neighbours(i)) workers.push_back(neighbour.worker);
  return workers;
}

}  // namespace

double MixingMatrix::excess(int i) const {
  constexpr double kRounding = 1e-12;
  const auto row = static_cast<std::size_t>(i);
  double sum = self[row] - 1;
  for (const Neighbour& neighbour : neighbours[row]) sum += neighbour.weight;
  return std::abs(sum) < kRounding ? 0 : sum;
}

MixingMatrix metropolis_weights(const Topology& topology) {
  MixingMatrix matrix;
  matrix.neighbours.resize(static_cast<std::size_t>(topology.workers()));
  for (int i = 0; i < topology.workers(); ++i) {
    auto& row = matrix.neighbours[static_cast<std::size_t>(i)];
    double given = 0;
    for (const int j : neighbour_workers(topology, i)) {
      const int larger = std::max(topology.neighbour_count(i), topology.neighbour_count(j));
      row.push_back({j, 1.0 / (1 + larger)});
      given += row.back().weight;
    }
    matrix.self.push_back(1 - given);
  }
  return matrix;
}

MixingMatrix uniform_weights(const Topology& topology) {
  for (int i = 1; i < topology.workers(); ++i) {
    if (topology.neighbour_count(i) == topology.neighbour_count(0)) continue;
    throw UsageError(fmt::format(
        "uniform mixing weights need equally many neighbours everywhere, but in topology '{}' "
        "worker 0 has {} and worker {} has {}; use Metropolis weights",
        topology.kind(), topology.neighbour_count(0), i, topology.neighbour_count(i)));
  }
  return metropolis_weights(topology);  // equal degrees: the same weights
}

double least_eigenvalue(const MixingMatrix& weights) {
  constexpr int kMostSteps = 20'000;
  constexpr double kExact = 1e-13;
  const std::size_t n = weights.self.size();
  std::vector<double> vector(n), next(n);
  for (std::size_t i = 0; i < n; ++i)  // not orthogonal to an eigenvector by symmetry
    vector[i] = std::sin(static_cast<double>(i + 1)) + (i % 2 == 0 ? 0.5 : -0.5);
  double value = 0, before = -1;
  for (int step = 0; step < kMostSteps && std::abs(value - before) > kExact; ++step) {
    double length = 0, product = 0;
    for (std::size_t i = 0; i < n; ++i) {
      next[i] = (1 - weights.self[i]) * vector[i];
      for (const Neighbour& neighbour : weights.neighbours[i])
        next[i] -= neighbour.weight * vector[static_cast<std::size_t>(neighbour.worker)];
      length += vector[i] * vector[i];
      product += next[i] * vector[i];
    }
    before = value;
    value = product / length;
    const double scale = 1 / std::max(std::sqrt(length), 1e-300);
    for (std::size_t i = 0; i < n; ++i) vector[i] = next[i] * scale;
  }
  return 1 - value;
}

}  // namespace acid
