#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// Decides when a due edge may start. An edge starts when neither partner has an exchange in flight
/// and no earlier due edge of either is waiting; so every worker exchanges in the drawn order, and
/// edges that share no worker are unordered (docs/SEMANTICS.md, Pairing). It cannot deadlock: the
/// drawn order is one total order, and the earliest unfinished edge is always at the head of both
/// its queues.
///
/// Invariant: the edge in flight of a worker, if any, is the head of its queue.
/// Not thread-safe; the driver guards it. O(1) per call, one node per unfinished edge.
class Matchmaker {
 public:
  explicit Matchmaker(int workers);

  /// The edge has become due: it queues at both workers. Edges come in list order.
  void add(const DueEdge& edge);
  /// Returns an edge that may start now; it becomes the exchange in flight of both its workers.
  std::optional<DueEdge> take();
  /// The exchange is over; both workers are free again.
  void finish(const DueEdge& edge);
  /// As add(), take() and finish() of an edge that takes no time, with no other edge unfinished.
  void pass();
  bool is_busy(int worker) const { return queues_[static_cast<std::size_t>(worker)].busy; }
  /// The edge in flight of a worker that has one.
  const DueEdge& in_flight(int worker) const;

  /// The number of due edges that wait at a worker, without the exchange in flight.
  int backlog(int worker) const;
  std::int64_t due() const { return due_; }
  std::int64_t finished() const { return finished_; }
  /// The number of edges that are due but not started.
  std::int64_t waiting() const { return due_ - started_; }
  bool idle() const { return due_ == finished_; }

  /// Archives what has finished and, in list order, the edges that have not. Reading makes these
  /// due afresh: take() yields edges in flight again. Throws Error for impossible edges.
  template <class Archive>
  void persist(Archive& archive) {
    std::vector<DueEdge> edges;
    if constexpr (!Archive::kReads) edges = unfinished();
    archive(finished_, edges);
    if constexpr (Archive::kReads) restore(edges);
  }

 private:
  static constexpr std::int32_t kNone = -1;
  struct Node {
    DueEdge edge;
    std::int32_t next[2] = {kNone, kNone};  // in the queue of edge.i, of edge.j
  };
  struct Queue {
    std::int32_t head = kNone, tail = kNone;
    std::int32_t length = 0;
    bool busy = false;  // the head is in flight
  };
  void append(int worker, std::int32_t node);
  void remove_head(int worker);
  /// Lists the head of a queue as ready if it has become startable.
  void offer_head(int worker);
  std::int32_t& link(std::int32_t node, int worker);
  std::vector<DueEdge> unfinished() const;
  void restore(const std::vector<DueEdge>& edges);

  std::vector<Node> nodes_;
  std::vector<std::int32_t> free_;
  std::vector<Queue> queues_;
  std::deque<std::int32_t> ready_;  // startable, not yet taken; each at the head of both its queues
  std::int64_t due_ = 0, started_ = 0, finished_ = 0;
};

}  // namespace acid
