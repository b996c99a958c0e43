#include "engine/methods/network.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace acid {
namespace {

// links[i] leads from worker i to i + 1, the last one back to worker 0.
std::vector<LinkCost> ring_links(const NetworkModel& network, int workers) {
  std::vector<LinkCost> links;
  for (int i = 0; i < workers; ++i) links.push_back(network.between(i, (i + 1) % workers));
  return links;
}

bool has_equal_links(const NetworkModel& network) {
  return network.edges.empty() && network.between_nodes.empty() && network.nodes() == 0;
}

// The longest chain of messages that wait for each other, S = 2(n−1) of them. A message waits
// either for its piece, which came over the link before, after that link's latency, or for its own
// link, which the message before it occupies. So a chain crosses some k consecutive links, and of
// its S messages the S − k that only waited for their link may as well have waited for the slowest.
double eager_ring(const std::vector<LinkCost>& links, double bytes) {
  const auto workers = static_cast<int>(links.size());
  const double piece = bytes / workers;
  const int steps = 2 * (workers - 1);
  std::vector<double> transfers;
  for (const LinkCost& link : links) transfers.push_back(link.transfer_seconds(piece));
  double longest = 0;
  for (int first = 0; first < workers; ++first) {
    double crossed = 0, slowest = 0;
    auto at = static_cast<std::size_t>(first);
    for (int k = 1; k <= steps; ++k, at = at + 1 == links.size() ? 0 : at + 1) {
      crossed += links[at].latency_seconds + transfers[at];
      slowest = std::max(slowest, transfers[at]);
      longest = std::max(longest, crossed + (steps - k) * slowest);
    }
  }
  return longest;
}

double eager_ring(const NetworkModel& network, int workers, double bytes) {
  if (!has_equal_links(network)) return eager_ring(ring_links(network, workers), bytes);
  return 2 * (workers - 1) * network.link.seconds(bytes / workers);
}

double hierarchical(const NetworkModel& network, int workers, double bytes) {
  const int nodes = network.nodes();
  if (nodes == 0) return eager_ring(network, workers, bytes);
  std::vector<int> first(static_cast<std::size_t>(nodes), workers);  // worker of each node
  double inside = 0;
  for (int i = workers - 1; i >= 0; --i) first[static_cast<std::size_t>(network.node(i))] = i;
  std::vector<LinkCost> between;
  for (std::size_t a = 0; a < first.size(); ++a) {
    const int end = a + 1 < first.size() ? first[a + 1] : workers, size = end - first[a];
    std::vector<LinkCost> links;
    for (int i = first[a]; i < end; ++i)
      links.push_back(network.between(i, i + 1 < end ? i + 1 : first[a]));
    if (size > 1) inside = std::max(inside, eager_ring(links, bytes));
    // The slowest of the rings among nodes, of which there are as many as workers on a node.
    const std::size_t b = (a + 1) % first.size();
    const int next_end = b + 1 < first.size() ? first[b + 1] : workers;
    LinkCost slowest = network.between(first[a], first[b]);
    for (int k = 1; k < std::min(size, next_end - first[b]); ++k) {
      const LinkCost& link = network.between(first[a] + k, first[b] + k);
      if (link.seconds(bytes / nodes) > slowest.seconds(bytes / nodes)) slowest = link;
    }
    between.push_back(slowest);
  }
  return inside + (nodes > 1 ? eager_ring(between, bytes) : 0);
}

double blocking_ring(const NetworkModel& network, int workers, double bytes) {
  double slowest = 0;
  for (const LinkCost& link : ring_links(network, workers))
    slowest = std::max(slowest, link.seconds(bytes / workers));
  return 2 * (workers - 1) * slowest;
}

// The bytes of messages that go at the same time, as many each way. A worker's messages of one
// direction share its port, or its node's card: their bytes add up.
class Loads {
 public:
  Loads(const NetworkModel& network, int workers)
      : network_(network),
        busy_(static_cast<std::size_t>(workers)),
        cards_(static_cast<std::size_t>(workers)) {}

  void add(int i, int j, double bytes) {
    const LinkCost& link = network_.between(i, j);
    const LinkCost card{0, network_.card_bytes_per_second};
    const double port = link.port_seconds(bytes);
    const std::pair<int, int> nodes = std::minmax(network_.node(i), network_.node(j));
    const bool alone = network_.nodes() == 0;  // on the link, as nodes have one worker each
    longest_ = std::max(longest_, link.transfer_seconds(bytes));
    for (const int worker : {i, j})
      if (nodes.first == nodes.second)
        longest_ = std::max(longest_, busy_[static_cast<std::size_t>(worker)] += port);
      else
        longest_ = std::max(longest_, cards_[static_cast<std::size_t>(network_.node(worker))] +=
                                      alone ? port : card.port_seconds(bytes));
    if (!alone && network_.between_nodes.contains(nodes) &&
        !network_.edges.contains(std::minmax(i, j)))
      longest_ = std::max(longest_, paths_[nodes] += port);
  }
  /// Until all have left.
  double seconds() const { return longest_; }

 private:
  const NetworkModel& network_;
  std::vector<double> busy_, cards_;
  std::map<std::pair<int, int>, double> paths_;
  double longest_ = 0;
};

// Each of a worker's links carries half of the vector each way, up one tree or down it.
double double_tree(const NetworkModel& network, int workers, double bytes) {
  Loads loads(network, workers);
  double farthest = 0;
  for (const bool mirrored : {false, true}) {
    const auto number = [&](int i) { return mirrored ? workers - 1 - i : i; };
    std::vector<double> latency(static_cast<std::size_t>(workers));
    for (int k = 1; k < workers; ++k) {
      const int child = number(k), parent = number(k / 2);
      loads.add(child, parent, bytes / 2);
      auto& way = latency[static_cast<std::size_t>(k)];
      way =
          latency[static_cast<std::size_t>(k / 2)] + network.between(child, parent).latency_seconds;
      farthest = std::max(farthest, way);
    }
  }
  return 2 * farthest + loads.seconds();
}

double direct(const NetworkModel& network, int workers, double bytes) {
  if (has_equal_links(network))
    return 2 * (network.link.latency_seconds +
                std::max((workers - 1) * network.link.port_seconds(bytes / workers),
                         network.link.transfer_seconds(bytes / workers)));
  Loads loads(network, workers);
  double latency = 0;
  for (int i = 0; i < workers; ++i)
    for (int j = i + 1; j < workers; ++j) {
      loads.add(i, j, bytes / workers);
      latency = std::max(latency, network.between(i, j).latency_seconds);
    }
  return 2 * (latency + loads.seconds());
}

// How long each of the pairs, which exchange whole vectors at once, takes.
std::vector<double> pair_seconds(const NetworkModel& network, double bytes,
                                 const std::vector<std::pair<int, int>>& pairs) {
  std::vector<double> seconds;
  std::optional<Cards> cards;
  if (network.shares_cards()) cards.emplace(network.cards(false));
  for (const auto& [i, j] : pairs) {
    const LinkCost& link = network.between(i, j);
    if (network.share_a_card(i, j))
      cards->begin(static_cast<int>(seconds.size()), network.way(i, j, false), bytes,
                   link.most_bytes_per_second(), 0);
    seconds.push_back(link.seconds(bytes));
  }
  while (cards && !cards->idle()) {
    const double end = cards->next_end();
    for (const int k : cards->end_next()) {
      const auto& [i, j] = pairs[static_cast<std::size_t>(k)];
      seconds[static_cast<std::size_t>(k)] = network.between(i, j).latency_seconds + end;
    }
  }
  return seconds;
}

// The pairs that exchange whole vectors, step by step. The first 2·spare workers are members in
// pairs, represented by the second of each; the first step has these pairs.
std::vector<std::vector<std::pair<int, int>>> doubling_steps(int workers) {
  const int members = static_cast<int>(std::bit_floor(static_cast<unsigned>(workers)));
  const int spare = workers - members;
  const auto member = [&](int m) { return m < spare ? 2 * m + 1 : m + spare; };
  std::vector<std::vector<std::pair<int, int>>> steps(1);
  for (int m = 0; m < spare; ++m) steps[0].emplace_back(2 * m, 2 * m + 1);
  for (int bit = 1; bit < members; bit *= 2) {
    steps.emplace_back();
    for (int m = 0; m < members; ++m)
      if ((m & bit) == 0) steps.back().emplace_back(member(m), member(m ^ bit));
  }
  return steps;
}

double recursive_doubling(const NetworkModel& network, int workers, double bytes) {
  const auto steps = doubling_steps(workers);
  const std::vector<double> of_spare = pair_seconds(network, bytes, steps[0]);
  std::vector<double> now(static_cast<std::size_t>(workers));  // by worker
  for (std::size_t k = 0; k < of_spare.size(); ++k) now[2 * k + 1] = of_spare[k];
  for (std::size_t step = 1; step < steps.size(); ++step) {
    const std::vector<double> seconds = pair_seconds(network, bytes, steps[step]);
    for (std::size_t k = 0; k < seconds.size(); ++k) {
      const auto a = static_cast<std::size_t>(steps[step][k].first);
      const auto b = static_cast<std::size_t>(steps[step][k].second);
      now[a] = now[b] = std::max(now[a], now[b]) + seconds[k];
    }
  }
  for (std::size_t k = 0; k < of_spare.size(); ++k) now[2 * k + 1] += of_spare[k];
  return *std::max_element(now.begin(), now.end());
}

double messages_of_all_reduce(const NetworkModel& network, int workers, double bytes) {
  switch (network.all_reduce) {
    case AllReduceKind::ring:
      return eager_ring(network, workers, bytes);
    case AllReduceKind::tree:
      return double_tree(network, workers, bytes);
    case AllReduceKind::recursive_doubling:
      return recursive_doubling(network, workers, bytes);
    case AllReduceKind::blocking:
      return blocking_ring(network, workers, bytes);
    case AllReduceKind::hierarchical:
      return hierarchical(network, workers, bytes);
    case AllReduceKind::direct:
      return direct(network, workers, bytes);
  }
  return 0;
}

}  // namespace

void LinkCost::limit_to_window(double bytes) {
  if (bytes > 0 && latency_seconds > 0) message_bytes_per_second = bytes / (2 * latency_seconds);
}

void NetworkModel::settle(int workers) {
  card_bytes_per_second = link.bytes_per_second;
  for (auto* const links : {&edges, &between_nodes})
    for (auto& [ends, of_ends] : *links) of_ends.limit_to_window(window_bytes);
  link.limit_to_window(window_bytes);
  inside.limit_to_window(window_bytes);
  if (hubs) hubs->limit_to_window(window_bytes);
  const bool alone = std::ranges::all_of(workers_per_node, [](int count) { return count == 1; });
  if (alone && between_nodes.empty()) return;
  node_of.clear();
  const auto counts = workers_per_node.empty() ? std::vector<int>{1} : workers_per_node;
  for (int node = 0; static_cast<int>(node_of.size()) < workers; ++node) {
    const int count = counts[std::min(static_cast<std::size_t>(node), counts.size() - 1)];
    for (int k = 0; k < count && static_cast<int>(node_of.size()) < workers; ++k)
      node_of.push_back(node);
  }
  const auto is_alone = [&](int node) { return std::ranges::count(node_of, node) == 1; };
  for (auto& [ends, of_ends] : between_nodes) {
    // A path between two workers has one message each way: it is their link's own limit.
    if (!is_alone(ends.first) || !is_alone(ends.second))
      path_bytes_per_second[ends] = of_ends.bytes_per_second;
    of_ends.limit_to_card(card_bytes_per_second);
  }
  for (auto& [ends, of_ends] : edges)
    if (share_a_card(ends.first, ends.second)) of_ends.limit_to_card(card_bytes_per_second);
}

bool NetworkModel::shares_cards() const {
  return nodes() > 0 &&
         (card_bytes_per_second > 0 || std::ranges::any_of(between_nodes, [](auto& path) {
            return path.second.bytes_per_second > 0;
          }));
}

std::vector<double> NetworkModel::cards(bool directed) const {
  const auto bandwidth = [](double given) {
    return given > 0 ? given : std::numeric_limits<double>::infinity();
  };
  const std::size_t ways = directed ? 2 : 1;
  std::vector<double> all(ways * static_cast<std::size_t>(nodes()),
                          bandwidth(card_bytes_per_second));
  for (const auto& [ends, given] : path_bytes_per_second)
    all.insert(all.end(), ways, bandwidth(given));
  return all;
}

SharedWay NetworkModel::way(int from, int to, bool directed) const {
  const int a = node(from), b = node(to), ways = directed ? 2 : 1;
  SharedWay way{a, directed ? nodes() + b : b, -1};
  const auto path = path_bytes_per_second.find(std::minmax(a, b));
  if (path == path_bytes_per_second.end() || edges.contains(std::minmax(from, to))) return way;
  const auto number = static_cast<int>(std::distance(path_bytes_per_second.begin(), path));
  way[2] = ways * (nodes() + number) + (directed && a > b ? 1 : 0);
  return way;
}

const LinkCost& NetworkModel::between(int i, int j) const {
  if (const auto found = edges.find(std::minmax(i, j)); found != edges.end()) return found->second;
  const int a = node(i), b = node(j);
  if (a == b && i != j && nodes() > 0) return inside;
  const auto found = between_nodes.find(std::minmax(a, b));
  return found == between_nodes.end() ? link : found->second;
}

bool NetworkModel::is_instant() const {
  const auto are_instant = [](const auto& links) {
    return std::ranges::all_of(links, [](const auto& entry) { return entry.second.is_instant(); });
  };
  return link.is_instant() && (nodes() == 0 || inside.is_instant()) && are_instant(edges) &&
         are_instant(between_nodes) && overhead.is_nothing();
}

void NetworkModel::slow_down(double factor) {
  for (LinkCost* const each : {&link, &inside}) each->slow_down(factor);
  if (hubs) hubs->slow_down(factor);
  for (auto* const links : {&edges, &between_nodes})
    for (auto& [ends, each] : *links) each.slow_down(factor);
  for (auto& [ends, each] : path_bytes_per_second) each /= factor;
  card_bytes_per_second /= factor;
  overhead.slow_down(factor);
}

NetworkModel NetworkModel::among(const std::vector<int>& workers) const {
  NetworkModel part = *this;
  std::map<int, int> place, of_node;  // by worker and by node here: the numbers there
  for (const int w : workers) {
    place.emplace(w, static_cast<int>(place.size()));
    of_node.emplace(node(w), static_cast<int>(of_node.size()));
  }
  const auto chosen = [](const auto& all, const std::map<int, int>& numbers) {
    std::remove_cvref_t<decltype(all)> some;
    for (const auto& [ends, value] : all) {
      const auto a = numbers.find(ends.first), b = numbers.find(ends.second);
      if (a != numbers.end() && b != numbers.end()) some[{a->second, b->second}] = value;
    }
    return some;
  };
  part.edges = chosen(edges, place);
  part.between_nodes = chosen(between_nodes, of_node);
  part.path_bytes_per_second = chosen(path_bytes_per_second, of_node);
  part.node_of.clear();
  for (const int w : workers)
    if (nodes() > 0) part.node_of.push_back(of_node[node(w)]);
  return part;
}

std::vector<Flow> NetworkModel::all_reduce_flows(int workers, double bytes) const {
  std::vector<Flow> flows;
  if (workers < 2) return flows;
  bytes /= backend_factor;
  const auto both_ways = [&](int i, int j, double each) {
    flows.insert(flows.end(), {{i, j, each}, {j, i, each}});
  };
  const auto round = [&](const std::vector<int>& ring) {
    const auto n = static_cast<double>(ring.size());
    for (std::size_t k = 0; k < ring.size() && n > 1; ++k)
      flows.push_back({ring[k], ring[(k + 1) % ring.size()], 2 * (n - 1) / n * bytes});
  };
  std::vector<int> all(static_cast<std::size_t>(workers));
  std::iota(all.begin(), all.end(), 0);
  switch (all_reduce) {
    case AllReduceKind::ring:
    case AllReduceKind::blocking:
      round(all);
      break;
    case AllReduceKind::hierarchical: {
      std::vector<std::vector<int>> nodes;
      for (const int w : all) {
        if (nodes.empty() || node(nodes.back()[0]) != node(w)) nodes.emplace_back();
        nodes.back().push_back(w);
      }
      std::vector<int> firsts;  // one stands for the rings of all workers of its node
      for (const auto& one : nodes) firsts.push_back(one[0]);
      if (firsts.size() < all.size())
        for (const auto& one : nodes) round(one);
      round(firsts);
      break;
    }
    case AllReduceKind::tree:
      for (int k = 1; k < workers; ++k) {
        both_ways(k, k / 2, bytes / 2);
        both_ways(workers - 1 - k, workers - 1 - k / 2, bytes / 2);
      }
      break;
    case AllReduceKind::direct:
      for (int i = 0; i < workers; ++i)
        for (int j = i + 1; j < workers; ++j) both_ways(i, j, 2 * bytes / workers);
      break;
    case AllReduceKind::recursive_doubling: {
      const auto steps = doubling_steps(workers);
      for (const auto& step : steps)
        for (const auto& [i, j] : step) both_ways(i, j, &step == &steps[0] ? 2 * bytes : bytes);
    }
  }
  return flows;
}

double NetworkModel::all_reduce_seconds(int workers, double bytes) const {
  if (workers < 2) return 0;
  bytes /= backend_factor;
  return overhead.all_reduce_seconds + messages_of_all_reduce(*this, workers, bytes);
}

}  // namespace acid
