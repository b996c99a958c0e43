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
  const bool sums = peers_.sums_all_in(exchange);
  const bool comes_again = peers_.period() > 0 && !has_turns_;
  const std::int64_t place = sums || comes_again ? peers_.place(exchange) : exchange;
  auto& known = found_[{place, bytes}];
  if (known == nullptr) {
    MessageCosts costs;
    if (sums) {
      costs = of_all(bytes);
    } else {
      const auto peers = peers_.exchange(exchange);
      costs = peers->groups.empty() ? of_peers(peers->weights, bytes)
                                    : of_groups(peers->groups, peers->weights, bytes);
    }
    costs.of_gradients = of_gradients_;
    costs.is_whole = varies_ || (!sums && costs.groups.empty() && network_.sends_whole());
    costs.is_empty = bytes == 0;
    known = std::make_shared<const MessageCosts>(std::move(costs));
  }
  const auto answer = known;
  const auto oldest = found_.lower_bound({0, 0.0});
  if (!comes_again && oldest != found_.end() && found_.size() > kKeptCosts) found_.erase(oldest);
  return answer;
}

std::vector<double> RoundCosts::by_bucket(const NetworkModel& network, int workers,
                                          double bytes) const {
  std::vector<double> all;
  std::map<double, double> known;  // by share; most buckets have the same size
  for (const double share : bucket_shares_) {
    const auto [found, added] = known.try_emplace(share, 0.0);
    if (added) found->second = network.all_reduce_seconds(workers, share * bytes);
    all.push_back(found->second);
  }
  all.push_back(network.all_reduce_seconds(workers, bytes));
  return all;
}

MessageCosts RoundCosts::of_all(double bytes) const {
  MessageCosts costs;
  costs.bucket_seconds = by_bucket(network_, workers_, bytes);
  costs.whole_seconds = costs.bucket_seconds.back();
  costs.bucket_seconds.pop_back();
  if (network_.all_reduce == AllReduceKind::direct && bytes > 0) {
    costs.way_seconds = network_.all_reduce_seconds(workers_, 0) / 2;
    costs.whole_seconds =
        costs.all_reduced(std::vector<double>(costs.bucket_seconds.size())).back();
  }
  return costs;
}

// Over cards that nothing else uses, an all-reduce takes as long as the network says. Its messages
// then leave the cards in some of that time, and what is left follows them wherever they share
// cards with other groups.
MessageCosts RoundCosts::of_groups(const WorkerGroups& groups, const MixingMatrix& weights,
                                   double bytes) const {
  MessageCosts costs;
  for (const auto& row : weights.neighbours) {
    std::vector<int>& heard = costs.neighbours.emplace_back();
    for (const Neighbour& one : row) heard.push_back(one.worker);
  }
  if (network_.shares_cards() && bytes > 0) costs.cards = network_.cards(true);
  for (const std::vector<int>& members : groups) {
    const NetworkModel own = network_.among(members);
    const auto size = static_cast<int>(members.size());
    GroupCost& group = costs.groups.emplace_back();
    group.members = members;
    group.seconds = by_bucket(own, size, bytes);
    group.after.assign(group.seconds.size(), 0);
    if (costs.cards.empty()) continue;
    Cards cards(costs.cards);
    for (const Flow& flow : own.all_reduce_flows(size, bytes)) {
      const int from = members[static_cast<std::size_t>(flow.from)];
      const int to = members[static_cast<std::size_t>(flow.to)];
      if (!network_.share_a_card(from, to)) continue;
      const LinkCost& link = network_.between(from, to);
      const auto name = static_cast<int>(group.over_cards.size());
      group.over_cards.push_back({network_.way(from, to, true), flow.bytes, link});
      cards.begin(name, group.over_cards.back().way, flow.bytes, link.most_bytes_per_second(), 0);
    }
    double alone = 0;  // of the whole message's bytes on the cards
    while (!cards.idle()) {
      alone = cards.next_end();
      cards.end_next();
    }
    for (std::size_t b = 0; b < group.after.size(); ++b) {
      const double share = b < bucket_shares_.size() ? bucket_shares_[b] : 1;
      group.after[b] = std::max(0.0, group.seconds[b] - share * alone);
    }
  }
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
      LinkCost link = network_.between(i, heard.worker);
      if (network_.node(i) != network_.node(heard.worker))
        link.latency_seconds += network_.overhead.neighbours_seconds;
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
