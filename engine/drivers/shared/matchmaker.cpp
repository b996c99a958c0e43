#include "engine/drivers/shared/matchmaker.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace acid {

Matchmaker::Matchmaker(int workers) : queues_(static_cast<std::size_t>(workers)) {}

std::int32_t& Matchmaker::link(std::int32_t node, int worker) {
  Node& n = nodes_[static_cast<std::size_t>(node)];
  return n.next[n.edge.i == worker ? 0 : 1];
}

void Matchmaker::append(int worker, std::int32_t node) {
  Queue& queue = queues_[static_cast<std::size_t>(worker)];
  if (queue.tail == kNone)
    queue.head = node;
  else
    link(queue.tail, worker) = node;
  queue.tail = node;
  ++queue.length;
}

void Matchmaker::remove_head(int worker) {
  Queue& queue = queues_[static_cast<std::size_t>(worker)];
  queue.head = link(queue.head, worker);
  if (queue.head == kNone) queue.tail = kNone;
  --queue.length;
  queue.busy = false;
}

void Matchmaker::offer_head(int worker) {
  const std::int32_t node = queues_[static_cast<std::size_t>(worker)].head;
  if (node == kNone) return;
  const DueEdge& edge = nodes_[static_cast<std::size_t>(node)].edge;
  Queue& i = queues_[static_cast<std::size_t>(edge.i)];
  Queue& j = queues_[static_cast<std::size_t>(edge.j)];
  if (i.head != node || j.head != node || i.busy || j.busy) return;
  i.busy = j.busy = true;
  ready_.push_back(node);
}

void Matchmaker::add(const DueEdge& edge) {
  std::int32_t node;
  if (free_.empty()) {
    node = static_cast<std::int32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    node = free_.back();
    free_.pop_back();
  }
  nodes_[static_cast<std::size_t>(node)] = {edge, {kNone, kNone}};
  ++due_;
  append(edge.i, node);
  append(edge.j, node);
  offer_head(edge.i);
}

std::optional<DueEdge> Matchmaker::take() {
  if (ready_.empty()) return std::nullopt;
  const DueEdge edge = nodes_[static_cast<std::size_t>(ready_.front())].edge;
  ready_.pop_front();
  ++started_;
  return edge;
}

void Matchmaker::finish(const DueEdge& edge) {
  const std::int32_t node = queues_[static_cast<std::size_t>(edge.i)].head;
  ACID_ASSERT(node != kNone && nodes_[static_cast<std::size_t>(node)].edge.number == edge.number,
              "edge {} is not in flight", edge.number);
  ++finished_;
  remove_head(edge.i);
  remove_head(edge.j);
  free_.push_back(node);
  offer_head(edge.i);
  offer_head(edge.j);
}

void Matchmaker::pass() {
  ACID_ASSERT(idle(), "an edge passes {} unfinished ones", due_ - finished_);
  ++due_;
  ++started_;
  ++finished_;
}

const DueEdge& Matchmaker::in_flight(int worker) const {
  const Queue& queue = queues_[static_cast<std::size_t>(worker)];
  ACID_ASSERT(queue.busy, "worker {} has no exchange in flight", worker);
  return nodes_[static_cast<std::size_t>(queue.head)].edge;
}

std::vector<DueEdge> Matchmaker::unfinished() const {
  std::vector<DueEdge> edges;
  for (std::size_t w = 0; w < queues_.size(); ++w)
    for (std::int32_t at = queues_[w].head; at != kNone;) {
      const Node& node = nodes_[static_cast<std::size_t>(at)];
      const bool first = node.edge.i == static_cast<int>(w);  // each is in two queues
      if (first) edges.push_back(node.edge);
      at = node.next[first ? 0 : 1];
    }
  std::sort(edges.begin(), edges.end(),
            [](const DueEdge& a, const DueEdge& b) { return a.number < b.number; });
  return edges;
}

void Matchmaker::restore(const std::vector<DueEdge>& edges) {
  due_ = started_ = finished_;
  for (const DueEdge& edge : edges) {
    if (edge.i < 0 || edge.i >= edge.j || edge.j >= static_cast<int>(queues_.size()))
      throw Error(fmt::format("the saved state has an exchange between workers {} and {} of {}",
                              edge.i, edge.j, queues_.size()));
    add(edge);
  }
}

int Matchmaker::backlog(int worker) const {
  const Queue& queue = queues_[static_cast<std::size_t>(worker)];
  return queue.length - (queue.busy ? 1 : 0);
}

}  // namespace acid
