#include "engine/methods/network.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace acid {
namespace {

// links[i] leads from worker i to i + 1, the last one back to worker 0.
std::vector<LinkCost> ring_links(const NetworkModel& network, int workers) {
  std::vector<LinkCost> links;
  for (int i = 0; i < workers; ++i) links.push_back(network.between(i, (i + 1) % workers));
  return links;
}

// The longest chain of messages that wait for each other, S = 2(n−1) of them. A message waits
// either for its piece, which came over the link before, after that link's latency, or for its own
// link, which the message before it occupies. So a chain crosses some k consecutive links, and of
// its S messages the S − k that only waited for their link may as well have waited for the slowest.
double eager_ring(const NetworkModel& network, int workers, double bytes) {
  const double piece = bytes / workers;
  const int steps = 2 * (workers - 1);
  if (network.edges.empty()) return steps * network.link.seconds(piece);
  const std::vector<LinkCost> links = ring_links(network, workers);
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

double blocking_ring(const NetworkModel& network, int workers, double bytes) {
  double slowest = 0;
  for (const LinkCost& link : ring_links(network, workers))
    slowest = std::max(slowest, link.seconds(bytes / workers));
  return 2 * (workers - 1) * slowest;
}

// A worker's messages of one direction share its port: their bytes add up. Each of its links
// carries half of the vector each way, up one tree or down it.
double double_tree(const NetworkModel& network, int workers, double bytes) {
  std::vector<double> busy(static_cast<std::size_t>(workers));
  double farthest = 0;
  for (const bool mirrored : {false, true}) {
    const auto number = [&](int i) { return mirrored ? workers - 1 - i : i; };
    std::vector<double> latency(static_cast<std::size_t>(workers));
    for (int i = 1; i < workers; ++i) {
      const int child = number(i), parent = number(i / 2);
      const LinkCost& link = network.between(child, parent);
      const double transfer = link.transfer_seconds(bytes / 2);
      busy[static_cast<std::size_t>(child)] += transfer;
      busy[static_cast<std::size_t>(parent)] += transfer;
      auto& way = latency[static_cast<std::size_t>(i)];
      way = latency[static_cast<std::size_t>(i / 2)] + link.latency_seconds;
      farthest = std::max(farthest, way);
    }
  }
  return 2 * farthest + *std::max_element(busy.begin(), busy.end());
}

double recursive_doubling(const NetworkModel& network, int workers, double bytes) {
  const int members = static_cast<int>(std::bit_floor(static_cast<unsigned>(workers)));
  const int spare = workers - members;
  // The first 2·spare workers are members in pairs, represented by the second of each.
  const auto member = [&](int m) { return m < spare ? 2 * m + 1 : m + spare; };
  const auto seconds = [&](int i, int j) { return network.between(i, j).seconds(bytes); };
  std::vector<double> now(static_cast<std::size_t>(members), 0.0), before;
  for (int m = 0; m < spare; ++m) now[static_cast<std::size_t>(m)] = seconds(2 * m, 2 * m + 1);
  for (int bit = 1; bit < members; bit *= 2) {
    before = now;
    for (int m = 0; m < members; ++m) {
      const int partner = m ^ bit;
      const double arrives =
          before[static_cast<std::size_t>(partner)] + seconds(member(partner), member(m));
      now[static_cast<std::size_t>(m)] = std::max(before[static_cast<std::size_t>(m)], arrives);
    }
  }
  for (int m = 0; m < spare; ++m) now[static_cast<std::size_t>(m)] += seconds(2 * m, 2 * m + 1);
  return *std::max_element(now.begin(), now.end());
}

}  // namespace

const LinkCost& NetworkModel::between(int i, int j) const {
  const auto found = edges.find(std::minmax(i, j));
  return found == edges.end() ? link : found->second;
}

double NetworkModel::all_reduce_seconds(int workers, double bytes) const {
  if (workers < 2) return 0;
  switch (all_reduce) {
    case AllReduceKind::ring:
      return eager_ring(*this, workers, bytes);
    case AllReduceKind::tree:
      return double_tree(*this, workers, bytes);
    case AllReduceKind::recursive_doubling:
      return recursive_doubling(*this, workers, bytes);
    case AllReduceKind::blocking:
      return blocking_ring(*this, workers, bytes);
  }
  return 0;
}

}  // namespace acid
