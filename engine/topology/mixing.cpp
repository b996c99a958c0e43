#include <algorithm>

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

}  // namespace acid
