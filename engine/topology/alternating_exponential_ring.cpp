#include <algorithm>
#include <bit>

#include "engine/base/error.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/laplacian.hpp"
#include "engine/topology/mixing_schedule.hpp"

namespace acid {
namespace {

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
  std::vector<Edge> edges;
  for (int bit = 1; bit < nodes; bit *= 2)
    for (const int half : {0, 1}) {
      matrices.push_back(halves(nodes, size, bit, half));
      add_edges(matrices.back(), edges);
    }
  return scheduled("alternating-exponential-ring", workers, edges, cycle_of(std::move(matrices)));
}

}  // namespace

/// Decent-DP's hierarchical schedule (2410.11998), for N nodes: in exchanges 2k and 2k + 1 nodes
/// whose numbers differ in bit k form pairs. In the first exchange one half of the pairs averages
/// over both nodes, and the workers of the other half average within their node; in the second the
/// halves change roles. The product over the period 2 log₂ N is 11ᵀ/n.
const TopologyEntry alternating_exponential_ring_topology{
    "alternating-exponential-ring",
    "half of the pairs of nodes average with each other, half within themselves, in turn",
    kNodesFields, &make_alternating_exponential_ring};

}  // namespace acid
