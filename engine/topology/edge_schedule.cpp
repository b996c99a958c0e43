#include "engine/topology/edge_schedule.hpp"

#include <limits>
#include <utility>

namespace acid {

EdgeSchedule::EdgeSchedule(const Topology& topology, double rate, const Seeds& seeds)
    : topology_(&topology),
      total_rate_(topology.workers() < 2 ? 0 : rate * topology.workers() / 2),
      clock_(seeds.derived(Purpose::gossip_clock)),
      pairing_(seeds.derived(Purpose::pairing)) {
  draw();
}

DueEdge EdgeSchedule::pop() {
  const DueEdge due = next_;
  ++next_.number;
  draw();
  return due;
}

void EdgeSchedule::draw() {
  if (total_rate_ == 0) {
    next_.due = std::numeric_limits<double>::infinity();
    return;
  }
  next_.due += clock_.exponential() / total_rate_;
  next_.i = static_cast<int>(pairing_.below(static_cast<std::uint64_t>(topology_->workers())));
  next_.j = topology_->draw_neighbour(next_.i, pairing_.uniform());
  if (next_.i > next_.j) std::swap(next_.i, next_.j);
}

}  // namespace acid
