#include "recipes/gossip_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
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

// Pairs whose link may differ from the network's.
std::vector<std::pair<int, int>> differing_links(const Topology& topology,
                                                 const NetworkModel& network) {
  std::vector<std::pair<int, int>> pairs;
  if (network.nodes() == 0 && network.between_nodes.empty()) {
    for (const auto& [edge, link] : network.edges) pairs.push_back(edge);
    return pairs;
  }
  topology.for_each_edge([&](const Edge& edge) { pairs.emplace_back(edge.i, edge.j); });
  return pairs;
}

}  // namespace

Load gossip_load(const Topology& topology, double rate, double vector_bytes,
                 const VirtualOptions& model) {
  const int n = topology.workers();
  const NetworkModel& network = model.network;
  const double usual = network.link.seconds(vector_bytes) + network.overhead.exchange_seconds;
  std::vector<double> busy, rates;
  for (int i = 0; i < n; ++i) {
    rates.push_back(topology.worker_rate(i, rate));
    busy.push_back(rates.back() * (usual + model.cost.exchange_seconds));
  }
  const std::vector<double> bandwidths = network.cards(false);
  std::vector<double> cards(bandwidths.size());  // bytes per unit of time
  std::vector<int> users(bandwidths.size());     // a worker that uses it
  for (const auto& [i, j] : differing_links(topology, network)) {
    const double often = topology.edge_rate(i, j, rate);
    const double extra = often * (network.meeting_seconds(i, j, vector_bytes) - usual);
    busy[static_cast<std::size_t>(i)] += extra;
    busy[static_cast<std::size_t>(j)] += extra;
    if (!network.share_a_card(i, j)) continue;
    const SharedWay way = network.way(i, j, false);
    for (std::size_t k = 0; k < way.size(); ++k) {
      if (way[k] < 0) continue;
      cards[static_cast<std::size_t>(way[k])] += often * vector_bytes;
      users[static_cast<std::size_t>(way[k])] = k == 0 ? i : j;
    }
  }
  Load load{.unit_seconds = unit_seconds(n, model, rates),
            .alone_seconds = unit_seconds(n, model, {})};
  for (int i = 0; i < n; ++i) {
    const double share = busy[static_cast<std::size_t>(i)] / load.unit_seconds;
    if (share <= load.largest) continue;
    load.largest = share;
    load.worker = i;
  }
  // A card that carries more than it can holds up the workers of its node.
  for (std::size_t card = 0; card < cards.size(); ++card) {
    const double share = cards[card] / bandwidths[card] / load.unit_seconds;
    if (share <= load.largest) continue;
    load.largest = share;
    load.worker = users[card];
    load.is_of_card = true;
  }
  return load;
}

// A load from 1 on is no mistake: the throttle holds gradients until the exchanges have caught up.
// Where there are none to hold, due exchanges would wait in a list that grows until the end.
std::optional<LoadDoubt> load_doubt(const Load& load, double rate, std::optional<double> max_load,
                                    bool no_gradients, bool rate_is_a_key) {
  const double most = max_load.value_or(kNever);
  const bool overloaded = load.largest >= 1;
  const std::string who =
      load.is_of_card ? fmt::format("the network card, or path, of worker {}'s node", load.worker)
                      : fmt::format("worker {}", load.worker);
  const std::string too_much =
      fmt::format("{} cannot keep up: its {} take {:.3g} times the time {} (load {:.3g}", who,
                  load.is_of_card ? "messages" : "exchanges", load.largest,
                  load.is_of_card ? "they have" : "it has", load.largest);
  const std::string busy =
      fmt::format("{} spends {:.0f} % of its time in {} (load {:.3g}", who, 100 * load.largest,
                  load.is_of_card ? "messages" : "exchanges", load.largest);
  if (load.largest >= most || (overloaded && no_gradients)) {
    const std::string why = overloaded && no_gradients
                                ? "no gradients are there to be held meanwhile"
                                : fmt::format("execution.max_load is {}", most);
    return LoadDoubt{
        {fmt::format("{} at communication_rate {}), and {}", overloaded ? too_much : busy, rate,
                     why),
         fmt::format("the largest feasible communication_rate is {} here; or use a "
                     "topology without hubs, or a faster network",
                     feasible_rate(load.rate_at(
                         overloaded && no_gradients ? std::min(most, 1.0) : most, rate)))},
        true};
  }
  const std::string remedy = rate_is_a_key
                                 ? "lower communication_rate or use a faster network"
                                 : "let the method's settings ask for fewer exchanges, or use a "
                                   "faster network";
  if (overloaded)
    return LoadDoubt{
        {fmt::format("{}), so the throttle holds gradients: workers make at most {:.3g} exchanges "
                     "and {:.3g} gradients in the time of a gradient, instead of {} and 1",
                     too_much, rate * load.pace(), load.pace(), rate),
         remedy}};
  if (load.largest > kHighLoad)
    return LoadDoubt{
        {fmt::format("{}, high above {}): gradients will wait", busy, kHighLoad), remedy}};
  return std::nullopt;
}

double all_reduce_load(int workers, double vector_bytes, const VirtualOptions& model) {
  return model.network.all_reduce_seconds(workers, vector_bytes) / unit_seconds(workers, model, {});
}

}  // namespace acid
