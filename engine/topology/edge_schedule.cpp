#include "engine/topology/edge_schedule.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace acid {

EdgeSchedule::EdgeSchedule(const Topology& topology, double rate, const Seeds& seeds)
    : topology_(&topology),
      total_rate_(topology.workers() < 2 ? 0 : rate * topology.workers() / 2),
      last_{Stream(seeds.derived(Purpose::gossip_clock)),
            Stream(seeds.derived(Purpose::pairing)),
            {}},
      marks_(kDrawn / kPortion, Mark{last_, 0}) {
  --last_.last.number;  // before the first, 0
  for (std::size_t begin = 0; begin < kDrawn; begin += kPortion) draw(begin);
}

// Draws the next portion into drawn_[begin …].
void EdgeSchedule::draw(std::size_t begin) {
  marks_[begin / kPortion] = {last_, begin};
  const std::span<DueEdge> edges = std::span(drawn_).subspan(begin, kPortion);
  if (total_rate_ == 0) {
    for (DueEdge& edge : edges) {
      draw_one(last_);
      edge = last_.last;
    }
    return;
  }
  std::array<double, kPortion> gaps, u;
  std::array<std::uint64_t, kPortion> initiators;
  std::array<int, kPortion> from, to;
  last_.clock.exponentials(gaps);
  last_.pairing.below_and_uniform(static_cast<std::uint64_t>(topology_->workers()), initiators, u);
  std::copy(initiators.begin(), initiators.end(), from.begin());
  topology_->draw_neighbours(from, u, to);
  std::uint64_t number = last_.last.number;
  double due = last_.last.due;
  for (std::size_t k = 0; k < kPortion; ++k)
    edges[k] = {++number, due += gaps[k] / total_rate_, std::min(from[k], to[k]),
                std::max(from[k], to[k])};
  last_.last = edges.back();
}

void EdgeSchedule::draw_one(Drawing& drawing) const {
  DueEdge& edge = drawing.last;
  ++edge.number;
  if (total_rate_ == 0) {
    edge.due = std::numeric_limits<double>::infinity();
    return;
  }
  edge.due += drawing.clock.exponential() / total_rate_;
  edge.i =
      static_cast<int>(drawing.pairing.below(static_cast<std::uint64_t>(topology_->workers())));
  edge.j = topology_->draw_neighbour(edge.i, drawing.pairing.uniform());
  if (edge.i > edge.j) std::swap(edge.i, edge.j);
}

EdgeSchedule::Drawing EdgeSchedule::after_next() const {
  const Mark& mark = marks_[next_ / kPortion];
  Drawing at = mark.at;
  for (std::size_t k = mark.first; k <= next_; ++k) draw_one(at);
  return at;
}

void EdgeSchedule::draw_on_from(const Drawing& after_next) {
  next_ = kPortion - 1;  // so that the next portions are whole
  drawn_[next_] = after_next.last;
  last_ = after_next;
  marks_[0] = {last_, kPortion};
  for (std::size_t begin = kPortion; begin < kDrawn; begin += kPortion) draw(begin);
}

}  // namespace acid
