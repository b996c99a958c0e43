// Schedules that repeat a few matrices, which follow from the number of workers and the options.
// graphs.cpp: from a list.
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/laplacian.hpp"
#include "engine/topology/mixing_schedule.hpp"

namespace acid {
namespace {

Topology in_turn(std::string kind, int workers, std::vector<MixingMatrix> matrices) {
  std::vector<Edge> edges;
  for (const MixingMatrix& matrix : matrices) add_edges(matrix, edges);
  return scheduled(std::move(kind), workers, std::move(edges), cycle_of(std::move(matrices)));
}

constexpr Field kOnePeerFields[] = {
    {"directed", FieldType::boolean, "true",
     "hear from i - 2^k and send to i + 2^k; false: pairs whose numbers differ in bit k"},
};

MixingMatrix from_distance(int workers, int hop) {
  MixingMatrix matrix{std::vector<double>(at(workers), 0.5), {}};
  for (int i = 0; i < workers; ++i)
    matrix.neighbours.push_back({{(i + workers - hop) % workers, 0.5}});
  return matrix;
}

MixingMatrix by_bit(int workers, int bit) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < workers; ++i)
    if ((i & bit) == 0) pairs.emplace_back(i, i | bit);
  return averaging(workers, pairs);
}

Topology make_one_peer_exponential(int workers, const nlohmann::json& options) {
  const bool directed = options.at("directed").get<bool>();
  if (!directed && !std::has_single_bit(static_cast<unsigned>(workers)))
    throw UsageError(fmt::format(
        "topology 'one-peer-exponential': {} workers cannot be paired by the bits of their "
        "numbers; use a power of two, or leave out directed = false",
        workers));
  std::vector<MixingMatrix> matrices;
  for (int hop = 1; hop < workers; hop *= 2)
    matrices.push_back(directed ? from_distance(workers, hop) : by_bit(workers, hop));
  return in_turn("one-peer-exponential", workers, std::move(matrices));
}

Topology make_alternating_ring(int workers, const nlohmann::json&) {
  if (workers % 2 != 0)
    throw UsageError(
        fmt::format("topology 'alternating-ring' needs an even number of workers, not {}: on an "
                    "odd ring they cannot all be paired with one beside them",
                    workers));
  std::vector<MixingMatrix> matrices;
  for (const int first : {0, 1}) {
    std::vector<std::pair<int, int>> pairs;
    for (int i = first; i < workers; i += 2) pairs.emplace_back(i, (i + 1) % workers);
    matrices.push_back(averaging(workers, pairs));
  }
  return in_turn("alternating-ring", workers, std::move(matrices));
}

constexpr Field kNodesFields[] = {
    {"workers_per_node", FieldType::integer, "1",
     "consecutive workers that share a machine; workers ÷ this is a power of two", 1},
};

/// Gives all members of a group the mean of the group.
void join(MixingMatrix& matrix, const std::vector<int>& group) {
  const double share = 1.0 / static_cast<double>(group.size());
  for (const int i : group) {
    matrix.self[at(i)] = share;
    for (const int j : group)
      if (j != i) matrix.neighbours[at(i)].push_back({j, share});
  }
}

// The number of a pair of nodes is the node's number without the bit.
MixingMatrix halves(int nodes, int size, int bit, int half) {
  MixingMatrix matrix;
  matrix.self.resize(at(nodes * size));
  matrix.neighbours.resize(at(nodes * size));
  for (int node = 0; node < nodes; ++node) {
    const int pair = (node / (2 * bit)) * bit + node % bit;
    const bool across = pair % 2 == half;
    if (across && (node & bit) != 0) continue;  // the partner's group includes it
    std::vector<int> group;
    for (int k = 0; k < size; ++k) group.push_back(node * size + k);
    for (int k = 0; across && k < size; ++k) group.push_back((node | bit) * size + k);
    join(matrix, group);
  }
  return matrix;
}

Topology make_alternating_exponential_ring(int workers, const nlohmann::json& options) {
  const std::int64_t asked = integer(options, "workers_per_node");
  const int size = static_cast<int>(std::min<std::int64_t>(asked, workers));
  const int nodes = workers / size;
  if (asked > workers || workers % size != 0 || nodes < 2 ||
      !std::has_single_bit(static_cast<unsigned>(nodes)))
    throw UsageError(fmt::format(
        "topology 'alternating-exponential-ring': {} workers, {} per node, are not 2, 4, 8, … "
        "whole nodes; change workers.count or workers_per_node",
        workers, asked));
  std::vector<MixingMatrix> matrices;
  for (int bit = 1; bit < nodes; bit *= 2)
    for (const int half : {0, 1}) matrices.push_back(halves(nodes, size, bit, half));
  return in_turn("alternating-exponential-ring", workers, std::move(matrices));
}

}  // namespace

/// Assran et al. 2018 (1811.10792); Ying et al. 2021 (2110.13363): for n = 2^k the product over the
/// period ⌈log₂ n⌉ is 11ᵀ/n, in either form. One message per worker and exchange.
const TopologyEntry one_peer_exponential_topology{
    "one-peer-exponential",
    "each worker hears only the one 2^k before it, k = 0, 1, … in turn while 2^k is below n",
    kOnePeerFields, &make_one_peer_exponential};

/// Decent-DP's ring (2410.11998). One message per worker and exchange.
const TopologyEntry alternating_ring_topology{
    "alternating-ring",
    "a ring whose even edges average in one exchange, its odd ones in the next",
    {},
    &make_alternating_ring};

/// Decent-DP's hierarchical schedule (2410.11998), for N nodes: in exchanges 2k and 2k + 1 nodes
/// whose numbers differ in bit k form pairs. In the first exchange one half of the pairs averages
/// over both nodes, and the workers of the other half average within their node; in the second the
/// halves change roles. The product over the period 2 log₂ N is 11ᵀ/n.
const TopologyEntry alternating_exponential_ring_topology{
    "alternating-exponential-ring",
    "half of the pairs of nodes average with each other, half within themselves, in turn",
    kNodesFields, &make_alternating_exponential_ring};

}  // namespace acid
