#include "recipes/gossip_load.hpp"

#include <vector>

namespace acid {
namespace {

// Seconds per unit of normalised time while no worker is held: 1 / mean of 1/E[durationᵢ] where
// exchanges take nothing of the workers' own time. `rates`: Λᵢᵢ by worker.
double unit_seconds(int workers, const VirtualOptions& model, const std::vector<double>& rates) {
  const ComputeModel& compute = model.compute;
  const double seconds = compute.gradient_seconds *
                         (1 + compute.slowdown_probability * (compute.slowdown_factor - 1)) *
                         (1 + model.cost.optimizer_share);
  double speeds = workers, gradients = workers;
  for (const double factor : compute.slow_factors) speeds += 1 / factor - 1;
  for (std::size_t i = 0; i < rates.size(); ++i)
    gradients += model.cost.exchange_seconds * rates[i] /
                 (seconds * (compute.slow_factors.empty() ? 1 : compute.slow_factors[i]));
  return seconds * gradients / speeds;
}

}  // namespace

Load gossip_load(const Topology& topology, double rate, double vector_bytes,
                 const VirtualOptions& model) {
  const int n = topology.workers();
  const double usual = model.network.link.seconds(vector_bytes);
  std::vector<double> busy, rates;
  for (int i = 0; i < n; ++i) {
    rates.push_back(topology.worker_rate(i, rate));
    busy.push_back(rates.back() * (usual + model.cost.exchange_seconds));
  }
  for (const auto& [edge, link] : model.network.edges) {
    const auto [i, j] = edge;
    const double extra = topology.edge_rate(i, j, rate) * (link.seconds(vector_bytes) - usual);
    busy[static_cast<std::size_t>(i)] += extra;
    busy[static_cast<std::size_t>(j)] += extra;
  }
  Load load{.unit_seconds = unit_seconds(n, model, rates),
            .alone_seconds = unit_seconds(n, model, {})};
  for (int i = 0; i < n; ++i) {
    const double share = busy[static_cast<std::size_t>(i)] / load.unit_seconds;
    if (share <= load.largest) continue;
    load.largest = share;
    load.worker = i;
  }
  return load;
}

double all_reduce_load(int workers, double vector_bytes, const VirtualOptions& model) {
  return model.network.all_reduce_seconds(workers, vector_bytes) / unit_seconds(workers, model, {});
}

}  // namespace acid
