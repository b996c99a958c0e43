#include "engine/topology/catalog.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {

std::span<const TopologyEntry> topology_catalog() {
  static const auto catalog = std::to_array<TopologyEntry>({
#define TOPOLOGY(stem) stem##_topology,
#include "engine/topology/catalog.inc"
#undef TOPOLOGY
  });
  return catalog;
}

const TopologyEntry* find_topology(std::string_view name) {
  const auto catalog = topology_catalog();
  const auto found = std::ranges::find(catalog, name, &TopologyEntry::name);
  return found == catalog.end() ? nullptr : &*found;
}

Topology make_topology(int workers, const nlohmann::json& options) {
  const std::string kind = text(options, "kind");
  const TopologyEntry* entry = find_topology(kind);
  if (!entry) throw UsageError(fmt::format("unknown topology '{}'", kind));
  if (workers < 1) {
    throw UsageError(
        fmt::format("topology '{}': {} workers; there must be at least 1", kind, workers));
  }
  return workers == 1 ? Topology(kind, 1, {}) : entry->make(workers, options);
}

Topology circulant(std::string kind, int workers, const std::vector<int>& hops) {
  std::vector<Edge> edges;
  edges.reserve(hops.size() * static_cast<std::size_t>(workers));
  // Each pair of hops ±h is listed from one end; a hop of n/2 thereby comes from both.
  for (const int hop : hops) {
    for (int i = 0; i < workers; ++i) edges.push_back({i, (i + hop) % workers});
  }
  return {std::move(kind), workers, std::move(edges), {workers}};
}

void require_storable(std::string_view kind, double edges) {
  constexpr double kMostEdges = 20e6;
  if (edges <= kMostEdges) return;
  throw UsageError(fmt::format(
      "topology '{}': about {:.2g} edges, and at most {:.2g} can be stored; use fewer workers or a "
      "sparser graph ('complete' stores none)",
      kind, edges, kMostEdges));
}

}  // namespace acid
