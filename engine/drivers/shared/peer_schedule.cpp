#include "engine/drivers/shared/peer_schedule.hpp"

#include <cmath>

namespace acid {
namespace {

constexpr std::size_t kKept = 64;  // drawn exchanges: workers are seldom further apart

std::int64_t bytes_of_one(const RunSpec& spec, std::size_t dimension, AllReduceKind kind) {
  if (spec.method.peers != Peers::all || spec.method.gathers())
    return static_cast<std::int64_t>(spec.method.packed_message(dimension).bytes());
  return std::llround(
      bytes_per_message(spec.method, *spec.topology, 4.0 * static_cast<double>(dimension), kind));
}

}  // namespace

PeerSchedule::PeerSchedule(const RunSpec& spec, std::size_t dimension, AllReduceKind all_reduce)
    : spec_(spec),
      mixing_(mixing_of(spec.method, *spec.topology)),
      seed_(spec.seeds.derived(Purpose::pairing)),
      bytes_each_(bytes_of_one(spec, dimension, all_reduce)) {
  for (std::int64_t e = 0; mixing_ != nullptr && e < mixing_->period(); ++e) {
    cycle_.push_back(make(e));
    cycle_messages_.push_back(cycle_messages_.back() + messages_of(cycle_.back()->weights));
  }
}

std::shared_ptr<const PeerSchedule::Exchange> PeerSchedule::make(std::int64_t number) const {
  Exchange exchange{mixing_->matrix(number, seed_), {}};
  exchange.receivers = receivers_of(exchange.weights);
  return std::make_shared<const Exchange>(std::move(exchange));
}

std::shared_ptr<const PeerSchedule::Exchange> PeerSchedule::exchange(std::int64_t number) const {
  if (period() > 0) return cycle_[static_cast<std::size_t>(number % period())];
  MutexLock lock(mutex_);
  return drawn(number);
}

std::shared_ptr<const PeerSchedule::Exchange> PeerSchedule::drawn(std::int64_t number) const {
  std::shared_ptr<const Exchange>& known = drawn_[number];
  if (known == nullptr) known = make(number);
  const auto answer = known;
  if (drawn_.size() > kKept) drawn_.erase(drawn_.begin());
  return answer;
}

Position PeerSchedule::after_legs(std::int64_t legs, double seconds) const {
  return spec_.after_legs(legs, seconds, bytes_before(spec_.method.round.said_before(legs)));
}

std::int64_t PeerSchedule::bytes_before(std::int64_t exchange) const {
  if (mixing_ == nullptr) return exchange * bytes_each_;
  if (period() > 0)
    return bytes_each_ * (exchange / period() * cycle_messages_.back() +
                          cycle_messages_[static_cast<std::size_t>(exchange % period())]);
  MutexLock lock(mutex_);
  for (auto e = static_cast<std::int64_t>(drawn_messages_.size()); e <= exchange; ++e)
    drawn_messages_.push_back(drawn_messages_.back() + messages_of(drawn(e - 1)->weights));
  return bytes_each_ * drawn_messages_[static_cast<std::size_t>(exchange)];
}

}  // namespace acid
