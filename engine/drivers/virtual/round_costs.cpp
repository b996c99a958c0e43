#include "engine/drivers/virtual/round_costs.hpp"

#include <algorithm>

namespace acid {
namespace {

constexpr std::size_t kKept = 8;  // drawn exchanges: those of a few legs

MessageCosts all_reduce_costs(int workers, const NetworkModel& network,
                              const std::vector<double>& bucket_shares, double bytes) {
  MessageCosts costs;
  std::map<double, double> seconds;  // of a share; most buckets are of one size
  for (const double share : bucket_shares) {
    const auto [known, added] = seconds.try_emplace(share, 0.0);
    if (added) known->second = network.all_reduce_seconds(workers, share * bytes);
    costs.bucket_seconds.push_back(known->second);
  }
  costs.whole_seconds = network.all_reduce_seconds(workers, bytes);
  return costs;
}

}  // namespace

RoundCosts::RoundCosts(const RunSpec& spec, const PeerSchedule& peers, const NetworkModel& network,
                       const std::vector<double>& bucket_shares, double bytes)
    : peers_(peers),
      network_(network),
      workers_(spec.workers),
      bytes_(bytes),
      of_gradients_(spec.method.reduces_gradients) {
  if (spec.method.peers != Peers::all || spec.method.gathers()) return;
  MessageCosts costs = all_reduce_costs(workers_, network, bucket_shares, bytes);
  costs.of_gradients = of_gradients_;
  of_all_ = std::make_shared<const MessageCosts>(std::move(costs));
}

std::shared_ptr<const MessageCosts> RoundCosts::of(std::int64_t exchange) {
  if (of_all_ != nullptr) return of_all_;
  const std::int64_t period = peers_.period();
  auto& known = found_[period > 0 ? exchange % period : exchange];
  if (known == nullptr)
    known = std::make_shared<const MessageCosts>(of_peers(peers_.exchange(exchange)->weights));
  const auto answer = known;
  while (period == 0 && found_.size() > kKept) found_.erase(found_.begin());
  return answer;
}

MessageCosts RoundCosts::of_peers(const MixingMatrix& weights) const {
  MessageCosts costs;
  costs.of_gradients = of_gradients_;
  for (int i = 0; i < workers_; ++i) {
    NeighbourCost cost;
    std::vector<int>& partners = costs.neighbours.emplace_back();
    for (const Neighbour& heard : weights.neighbours[static_cast<std::size_t>(i)]) {
      partners.push_back(heard.worker);
      const LinkCost& link = network_.between(i, heard.worker);
      cost.latency_seconds = std::max(cost.latency_seconds, link.latency_seconds);
      cost.transfer_seconds += link.transfer_seconds(bytes_);
    }
    costs.exchanges.push_back(cost);
  }
  return costs;
}

}  // namespace acid
