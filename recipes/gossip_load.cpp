#include "recipes/gossip_load.hpp"

#include <vector>

namespace acid {
namespace {

// Seconds per unit of normalised time while every worker computes: 1 / mean of 1/E[durationᵢ].
double unit_seconds(int workers, const VirtualOptions& model) {
  const ComputeModel& compute = model.compute;
  const double seconds = compute.gradient_seconds *
                         (1 + compute.slowdown_probability * (compute.slowdown_factor - 1)) *
                         (1 + model.cost.optimizer_share);
  double speeds = workers;
  for (const double factor : compute.slow_factors) speeds += 1 / factor - 1;
  return seconds * workers / speeds;
}

}  // namespace

Load gossip_load(const Topology& topology, double rate, double vector_bytes,
                 const VirtualOptions& model) {
  const int n = topology.workers();
  const double usual = model.network.link.seconds(vector_bytes);
  std::vector<double> busy(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    busy[static_cast<std::size_t>(i)] = topology.worker_rate(i, rate) * usual;
  for (const auto& [edge, link] : model.network.edges) {
    const auto [i, j] = edge;
    const double extra = topology.edge_rate(i, j, rate) * (link.seconds(vector_bytes) - usual);
    busy[static_cast<std::size_t>(i)] += extra;
    busy[static_cast<std::size_t>(j)] += extra;
  }
  Load load;
  const double unit = unit_seconds(n, model);
  for (int i = 0; i < n; ++i) {
    const double share = busy[static_cast<std::size_t>(i)] / unit;
    if (share > load.largest) load = {share, i};
  }
  return load;
}

double all_reduce_load(int workers, double vector_bytes, const VirtualOptions& model) {
  return model.network.all_reduce_seconds(workers, vector_bytes) / unit_seconds(workers, model);
}

}  // namespace acid
