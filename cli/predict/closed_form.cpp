#include "cli/predict/closed_form.hpp"

#include <algorithm>
#include <cmath>

namespace acid {
namespace {

constexpr double kRounding = 1e-12;

bool links_are_alike(const NetworkModel& network) {
  return network.edges.empty() && network.nodes() == 0 && network.between_nodes.empty();
}

bool has_equal_parts(const std::vector<double>& shares) {
  return std::ranges::all_of(shares,
                             [&](double share) { return std::abs(share - shares[0]) < kRounding; });
}

/// How many neighbours each worker hears in every exchange; nothing where these differ.
std::optional<int> neighbours_of_each(const Topology& graph) {
  if (graph.schedule()) return std::nullopt;
  for (int w = 1; w < graph.workers(); ++w)
    if (graph.neighbour_count(w) != graph.neighbour_count(0)) return std::nullopt;
  return graph.neighbour_count(0);
}

}  // namespace

std::optional<double> closed_form_seconds(const RunSpec& spec, const VirtualOptions& options,
                                          std::size_t dimension) {
  const Method& method = spec.method;
  const NetworkModel& network = options.network;
  const auto bytes = static_cast<double>(method.packed_message(spec.travelling(dimension)).bytes());
  const std::vector<double> shares =
      method.peers == Peers::neighbours && !method.reduces_groups && network.sends_whole()
          ? std::vector<double>{1}
          : options.cost.bucket_shares(bytes);
  if (options.variation > 0 || !options.compute.is_even() || !links_are_alike(network) ||
      !has_equal_parts(shares) || method.is_asynchronous() || method.varies() ||
      method.round.legs().size() != 1)
    return std::nullopt;
  const auto B = static_cast<double>(shares.size());
  const double both = options.compute.mean_seconds(0);
  const double F = options.cost.forward_share * both, G = both - F;
  const double U = options.cost.optimizer_share * both;
  const Leg& leg = method.round.leg(0);
  if (method.reduces_gradients && !method.gathers() &&
      leg == Leg{Phase::gradient, Phase::say, Phase::hear, Phase::step}) {
    if (network.all_reduce == AllReduceKind::direct && B > 1) return std::nullopt;
    const double c = network.all_reduce_seconds(spec.workers, bytes / B);
    return std::max(F + G + c, F + G / B + B * c) + U;
  }
  const std::optional<int> heard = neighbours_of_each(*spec.topology);
  if (method.peers != Peers::neighbours || heard.value_or(0) == 0 ||
      options.cost.exchange_seconds > 0 ||
      leg != Leg{Phase::say, Phase::gradient, Phase::hear, Phase::step})
    return std::nullopt;
  const double whole =
      std::max(*heard * network.link.port_seconds(bytes), network.link.transfer_seconds(bytes));
  const double c = method.reduces_groups ? network.all_reduce_seconds(*heard + 1, bytes / B)
                                         : network.link.latency_seconds +
                                               network.overhead.neighbours_seconds + whole / B;
  return std::max({F + G + U, B * c, c + U / B});
}

}  // namespace acid
