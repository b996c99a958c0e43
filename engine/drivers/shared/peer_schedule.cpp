#include "engine/drivers/shared/peer_schedule.hpp"

#include <algorithm>
#include <cmath>

namespace acid {
namespace {

constexpr std::size_t kKeptExchanges = 64;  // drawn exchanges: workers are seldom further apart

}  // namespace

PeerSchedule::PeerSchedule(const RunSpec& spec, std::size_t dimension, AllReduceKind all_reduce)
    : spec_(spec),
      mixing_(mixing_of(spec.method, *spec.topology)),
      seed_(spec.seeds.derived(Purpose::pairing)),
      form_(spec.method.packed_message(dimension, spec.seeds.derived(Purpose::dither))),
      counted_(spec.method.packed_message(spec.travelling(dimension))),
      all_reduce_(all_reduce) {
  if (!spec.method.turns.empty() && spec.method.gathers())
    all_ = make(metropolis_weights(Topology::complete(spec.workers)));
  for (std::int64_t e = 0; mixing_ != nullptr && e < mixing_->period(); ++e) {
    cycle_.push_back(make(mixing_->matrix(e, seed_)));
    cycle_vectors_.push_back(cycle_vectors_.back() + cycle_.back()->vectors);
  }
}

std::shared_ptr<const PeerSchedule::Exchange> PeerSchedule::make(
    const MixingMatrix& weights) const {
  const auto n = static_cast<int>(weights.self.size());
  std::vector<double> excess;
  for (int i = 0; i < n; ++i) excess.push_back(weights.excess(i));
  if (std::ranges::any_of(excess, [](double one) { return one != 0; })) {
    std::ranges::fill(excess, 0.0);
    for (int i = 0; i < n; ++i)
      for (const Neighbour& heard : weights.neighbours[static_cast<std::size_t>(i)]) {
        const double weight = static_cast<float>(heard.weight);
        excess[static_cast<std::size_t>(i)] += weight;
        excess[static_cast<std::size_t>(heard.worker)] -= weight;
      }
  }
  Exchange made{weights, receivers_of(weights), std::move(excess)};
  made.groups = reduced_groups(spec_.method, weights);
  made.vectors = vectors_sent(weights, made.groups, all_reduce_);
  made.group.resize(made.groups.empty() ? 0 : weights.self.size());
  for (std::size_t g = 0; g < made.groups.size(); ++g)
    for (const int member : made.groups[g]) made.group[static_cast<std::size_t>(member)] = g;
  return std::make_shared<const Exchange>(std::move(made));
}

std::shared_ptr<const PeerSchedule::Exchange> PeerSchedule::exchange(std::int64_t number) const {
  if (auto staying = stays(number)) return staying;
  MutexLock lock(mutex_);
  return drawn(number);
}

std::shared_ptr<const PeerSchedule::Exchange> PeerSchedule::stays(std::int64_t number) const {
  if (all_ != nullptr && spec_.method.hears_all_in(number)) return all_;
  if (period() > 0) return cycle_[static_cast<std::size_t>(number % period())];
  return nullptr;
}

std::shared_ptr<const PeerSchedule::Exchange> PeerSchedule::drawn(std::int64_t number) const {
  std::shared_ptr<const Exchange>& known = drawn_[number];
  if (known == nullptr) known = make(mixing_->matrix(number, seed_));
  const auto answer = known;
  if (drawn_.size() > kKeptExchanges) drawn_.erase(drawn_.begin());
  return answer;
}

Position PeerSchedule::after_legs(std::int64_t legs, double seconds) const {
  return spec_.after_legs(legs, seconds, bytes_before(spec_.method.round.said_before(legs)));
}

std::int64_t PeerSchedule::bytes_in(std::int64_t exchange) const {
  const auto one = static_cast<std::int64_t>(bytes(exchange));
  if (sums_all_in(exchange))
    return std::llround(all_reduce_vectors(all_reduce_, spec_.workers) * static_cast<double>(one));
  if (one == 0) return 0;
  const auto staying = stays(exchange);
  return one * (staying != nullptr ? staying : drawn(exchange))->vectors;
}

std::int64_t PeerSchedule::bytes_before(std::int64_t exchange) const {
  if (!spec_.method.varies() && period() > 0)
    return static_cast<std::int64_t>(counted_.bytes()) *
           (exchange / period() * cycle_vectors_.back() +
            cycle_vectors_[static_cast<std::size_t>(exchange % period())]);
  MutexLock lock(mutex_);
  if (!spec_.method.varies() && mixing_ == nullptr) return exchange * bytes_in(0);
  for (auto e = static_cast<std::int64_t>(bytes_.size()); e <= exchange; ++e)
    bytes_.push_back(bytes_.back() + bytes_in(e - 1));
  return bytes_[static_cast<std::size_t>(exchange)];
}

}  // namespace acid
