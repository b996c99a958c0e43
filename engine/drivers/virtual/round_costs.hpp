#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/drivers/virtual/round_clock.hpp"
#include "engine/methods/network.hpp"

namespace acid {

/// What the messages of a simulated run of rounds take, exchange by exchange. What arrives at a
/// worker shares its link: latencies overlap, bytes add up.
class RoundCosts {
 public:
  /// Messages of `bytes`, in buckets of these shares. `peers` and `network` outlive this.
  RoundCosts(const RunSpec& spec, const PeerSchedule& peers, const NetworkModel& network,
             const std::vector<double>& bucket_shares, double bytes);

  std::shared_ptr<const MessageCosts> of(std::int64_t exchange);

 private:
  MessageCosts of_peers(const MixingMatrix& weights) const;

  const PeerSchedule& peers_;
  const NetworkModel& network_;
  const int workers_;
  const double bytes_;
  const bool of_gradients_;
  std::shared_ptr<const MessageCosts> of_all_;  // where workers hear all, by an all-reduce
  std::map<std::int64_t, std::shared_ptr<const MessageCosts>> found_;  // the last ones
};

}  // namespace acid
