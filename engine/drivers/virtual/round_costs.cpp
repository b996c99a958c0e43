#include "engine/drivers/virtual/round_costs.hpp"

#include <algorithm>

namespace acid {
namespace {

constexpr std::size_t kKeptCosts = 64;  // costs of drawn or varying exchanges that are kept

}  // namespace

RoundCosts::RoundCosts(const RunSpec& spec, const PeerSchedule& peers, const NetworkModel& network,
                       double exchange_seconds, const std::vector<double>& bucket_shares)
    : peers_(peers),
      network_(network),
      exchange_seconds_(exchange_seconds),
      bucket_shares_(bucket_shares),
      workers_(spec.workers),
      of_gradients_(spec.method.reduces_gradients),
      varies_(spec.method.varies()),
      has_turns_(!spec.method.turns.empty()) {}

std::shared_ptr<const MessageCosts> RoundCosts::of(std::int64_t exchange) {
  const double bytes = static_cast<double>(peers_.bytes(exchange));
  const bool sums = peers_.sums_in(exchange);
  const std::int64_t period = peers_.period();
  const bool comes_again = period > 0 && !has_turns_;
  const std::int64_t place = sums ? -1 : comes_again ? exchange % period : exchange;
  auto& known = found_[{place, bytes}];
  if (known == nullptr) {
    MessageCosts costs = sums ? of_all(bytes) : of_peers(peers_.exchange(exchange)->weights, bytes);
    costs.of_gradients = of_gradients_;
    costs.is_whole = varies_;
    costs.is_empty = bytes == 0;
    known = std::make_shared<const MessageCosts>(std::move(costs));
  }
  const auto answer = known;
  const auto oldest = found_.lower_bound({0, 0.0});
  if (!comes_again && oldest != found_.end() && found_.size() > kKeptCosts) found_.erase(oldest);
  return answer;
}

MessageCosts RoundCosts::of_all(double bytes) const {
  MessageCosts costs;
  std::map<double, double> seconds;  // by share; most buckets have the same size
  for (const double share : bucket_shares_) {
    const auto [known, added] = seconds.try_emplace(share, 0.0);
    if (added) known->second = network_.all_reduce_seconds(workers_, share * bytes);
    costs.bucket_seconds.push_back(known->second);
  }
  costs.whole_seconds = network_.all_reduce_seconds(workers_, bytes);
  return costs;
}

MessageCosts RoundCosts::of_peers(const MixingMatrix& weights, double bytes) const {
  MessageCosts costs;
  if (network_.shares_cards() && bytes > 0) {
    costs.over_cards.resize(static_cast<std::size_t>(workers_));
    costs.cards = network_.cards(true);
  }
  for (int i = 0; i < workers_; ++i) {
    NeighbourCost cost;
    double longest = 0;  // message alone
    std::vector<int>& partners = costs.neighbours.emplace_back();
    for (const Neighbour& heard : weights.neighbours[static_cast<std::size_t>(i)]) {
      partners.push_back(heard.worker);
      const LinkCost& link = network_.between(i, heard.worker);
      if (!costs.over_cards.empty() && network_.share_a_card(i, heard.worker)) {
        costs.over_cards[static_cast<std::size_t>(i)].push_back(
            {network_.way(heard.worker, i, true), bytes, link});
        continue;
      }
      cost.latency_seconds = std::max(cost.latency_seconds, link.latency_seconds);
      cost.transfer_seconds += link.port_seconds(bytes);
      longest = std::max(longest, link.transfer_seconds(bytes));
    }
    cost.transfer_seconds = std::max(cost.transfer_seconds, longest);
    costs.exchanges.push_back(cost);
    if (exchange_seconds_ > 0 && bytes > 0)
      costs.own_seconds.push_back(exchange_seconds_ * static_cast<double>(partners.size()));
  }
  return costs;
}

}  // namespace acid
