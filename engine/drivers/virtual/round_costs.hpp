#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/drivers/virtual/round_clock.hpp"
#include "engine/methods/network.hpp"

namespace acid {

/// What the messages of a simulated run of rounds take, exchange by exchange. What arrives at a
/// worker shares its link: latencies overlap, bytes add up.
class RoundCosts {
 public:
  /// Messages in buckets of these shares, unless they are different from exchange to exchange: then
  /// each is a bucket. `peers` and `network` outlive this.
  RoundCosts(const RunSpec& spec, const PeerSchedule& peers, const NetworkModel& network,
             const std::vector<double>& bucket_shares);

  std::shared_ptr<const MessageCosts> of(std::int64_t exchange);

 private:
  MessageCosts of_all(double bytes) const;
  MessageCosts of_peers(const MixingMatrix& weights, double bytes) const;

  const PeerSchedule& peers_;
  const NetworkModel& network_;
  const std::vector<double> bucket_shares_;
  const int workers_;
  const bool of_gradients_, varies_, has_turns_;
  // By exchange, or its place in a period, and bytes; -1: with all. Some of them.
  std::map<std::pair<std::int64_t, double>, std::shared_ptr<const MessageCosts>> found_;
};

}  // namespace acid
