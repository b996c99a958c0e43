#include "engine/base/error.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/mixing_schedule.hpp"

namespace acid {
namespace {

Topology make_alternating_ring(int workers, const nlohmann::json&) {
  if (workers % 2 != 0)
    throw UsageError(
        fmt::format("topology 'alternating-ring' needs an even number of workers, not {}: on an "
                    "odd ring they cannot all be paired with one beside them",
                    workers));
  std::vector<MixingMatrix> matrices;
  std::vector<Edge> edges;
  for (const int first : {0, 1}) {
    std::vector<std::pair<int, int>> pairs;
    for (int i = first; i < workers; i += 2) pairs.emplace_back(i, (i + 1) % workers);
    matrices.push_back(averaging(workers, pairs));
    add_edges(matrices.back(), edges);
  }
  return scheduled("alternating-ring", workers, edges, cycle_of(std::move(matrices)));
}

}  // namespace

/// Decent-DP's ring (2410.11998). One message per worker and exchange.
const TopologyEntry alternating_ring_topology{
    "alternating-ring",
    "a ring whose even edges average in one exchange, its odd ones in the next",
    {},
    &make_alternating_ring};

}  // namespace acid
