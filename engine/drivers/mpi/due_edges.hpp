#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "engine/run/outcome.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// The edges of one worker that are due and not exchanged, in drawn order; the first may be in
/// flight. Edges with lost workers are counted as left out instead. Guarded by its user.
class DueEdges {
 public:
  DueEdges(const RunSpec& spec, int worker)
      : worker_(worker),
        schedule_(*spec.topology, spec.method.rate, spec.seeds),
        gone_(static_cast<std::size_t>(spec.workers)) {}

  /// Draws the list up to that normalised time.
  void draw_until(double t) {
    while (schedule_.peek().due <= t) {
      const DueEdge edge = schedule_.pop();
      if (edge.i == worker_ || edge.j == worker_) queue(edge);
    }
  }
  /// The same for a resumed run, where all these edges were exchanged.
  void pass_until(double t) {
    while (schedule_.peek().due <= t) schedule_.pop();
  }

  /// Whether an edge that was due by then is not exchanged.
  bool any_by(double t) const { return !edges_.empty() && edges_.front().due <= t; }
  const DueEdge& first() const { return edges_.front(); }
  /// The edges that wait, without the one in flight.
  std::int64_t waiting() const {
    return static_cast<std::int64_t>(edges_.size()) - (in_flight_ ? 1 : 0);
  }

  // These concern the first edge.
  void begin() { in_flight_ = true; }
  void give_up() { in_flight_ = false; }
  void finish() {
    edges_.pop_front();
    in_flight_ = false;
  }

  void lose(int worker) {
    gone_[static_cast<std::size_t>(worker)] = true;
    for (const DueEdge& edge : std::exchange(edges_, {})) queue(edge);
  }
  std::vector<EdgeUse> left_out() const { return left_out_.list(); }

 private:
  void queue(const DueEdge& edge) {
    if (gone_[static_cast<std::size_t>(edge.i)] || gone_[static_cast<std::size_t>(edge.j)])
      left_out_.add(edge.i, edge.j);
    else
      edges_.push_back(edge);
  }

  const int worker_;
  EdgeSchedule schedule_;
  std::deque<DueEdge> edges_;
  bool in_flight_ = false;
  std::vector<bool> gone_;  // workers that are lost
  EdgeCounter left_out_;    // due exchanges with lost workers that were not applied
};

}  // namespace acid
