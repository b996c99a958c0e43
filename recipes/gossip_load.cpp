#include "recipes/gossip_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace acid {
namespace {

constexpr double kHighLoad = 0.3;

// The largest rate below `limit` with three digits.
std::string feasible_rate(double limit) {
  const double unit = std::pow(10, std::floor(std::log10(limit)) - 2);
  return fmt::format("{:.6g}", (std::ceil(limit / unit) - 1) * unit);
}

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

// A load from 1 on is no mistake: the throttle holds gradients until the exchanges have caught up.
// Where there are none to hold, due exchanges would wait in a list that grows until the end.
std::optional<LoadDoubt> load_doubt(const Load& load, double rate, std::optional<double> max_load,
                                    bool no_gradients) {
  const double most = max_load.value_or(kNever);
  const bool overloaded = load.largest >= 1;
  if (load.largest >= most || (overloaded && no_gradients)) {
    const std::string what =
        overloaded ? fmt::format("cannot keep up: its exchanges take {:.3g} times the time it has",
                                 load.largest)
                   : fmt::format("spends {:.0f} % of its time in exchanges", 100 * load.largest);
    const std::string why = overloaded && no_gradients
                                ? "no gradients are there to be held meanwhile"
                                : fmt::format("execution.max_load is {}", most);
    return LoadDoubt{
        {fmt::format("worker {} {} (load {:.3g} at communication_rate {}), and {}", load.worker,
                     what, load.largest, rate, why),
         fmt::format("the largest feasible communication_rate is {} here; or use a topology "
                     "without hubs, or a faster network",
                     feasible_rate(load.rate_at(std::min(most, 1.0), rate)))},
        true};
  }
  const std::string remedy = "lower communication_rate or use a faster network";
  if (overloaded)
    return LoadDoubt{
        {fmt::format(
             "worker {} cannot keep up: its exchanges take {:.3g} times the time it has "
             "(load {:.3g}), so the throttle holds gradients: workers make about {:.3g} "
             "exchanges and {:.3g} gradients in the time of a gradient, instead of {} and 1",
             load.worker, load.largest, load.largest, rate * load.pace(), load.pace(), rate),
         remedy}};
  if (load.largest > kHighLoad)
    return LoadDoubt{
        {fmt::format("worker {} spends {:.0f} % of its time in exchanges (load {:.3g}, high above "
                     "{}): gradients will wait",
                     load.worker, 100 * load.largest, load.largest, kHighLoad),
         remedy}};
  return std::nullopt;
}

double all_reduce_load(int workers, double vector_bytes, const VirtualOptions& model) {
  return model.network.all_reduce_seconds(workers, vector_bytes) / unit_seconds(workers, model, {});
}

}  // namespace acid
