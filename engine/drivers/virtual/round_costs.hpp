#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/drivers/virtual/round_clock.hpp"
#include "engine/methods/network.hpp"

namespace acid {

/// What the messages of a simulated run of rounds cost, by exchange. Messages that arrive at a
/// worker share its link: latencies overlap, bytes add up.
class RoundCosts {
 public:
  /// `bucket_shares`: of a message, unless messages differ between exchanges: then each is one
  /// bucket. `peers` and `network` outlive this.
  RoundCosts(const RunSpec& spec, const PeerSchedule& peers, const NetworkModel& network,
             double exchange_seconds, const std::vector<double>& bucket_shares);

  std::shared_ptr<const MessageCosts> of(std::int64_t exchange);

 private:
  /// The seconds of an all-reduce of each bucket, and of the whole message.
  std::vector<double> by_bucket(const NetworkModel& network, int workers, double bytes) const;
  MessageCosts of_all(double bytes) const;
  MessageCosts of_groups(const WorkerGroups& groups, const MixingMatrix& weights,
                         double bytes) const;
  MessageCosts of_peers(const MixingMatrix& weights, double bytes) const;

  const PeerSchedule& peers_;
  const NetworkModel& network_;
  const double exchange_seconds_;  // CostModel
  const std::vector<double> bucket_shares_;
  const int workers_;
  const bool of_gradients_, varies_, has_turns_;
  // Some results, by exchange (or its place in a period; −1: all hear all) and bytes.
  std::map<std::pair<std::int64_t, double>, std::shared_ptr<const MessageCosts>> found_;
};

}  // namespace acid
