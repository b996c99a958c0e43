#include "engine/topology/catalog.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"

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
  return find_named(topology_catalog(), name);
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
  // Each pair of hops ±h is listed from one end; a hop of n/2 is thereby listed from both ends.
  for (const int hop : hops) {
    for (int i = 0; i < workers; ++i) edges.push_back({i, (i + hop) % workers});
  }
  return {std::move(kind), workers, std::move(edges), {workers}};
}

Topology base_graph(std::string_view kind, int workers, const std::string& name) {
  const TopologyEntry* entry = find_topology(name);
  const auto fail = [&](const char* what) {
    throw UsageError(
        fmt::format("topology '{}': '{}' {}; name a kind such as \"ring\"", kind, name, what));
  };
  if (!entry) fail("is no kind of graph");
  for (const Field& field : entry->fields)
    if (field.fallback.empty()) fail("needs options of its own");
  nlohmann::json options = with_fallbacks(entry->fields, nlohmann::json::object());
  options["kind"] = name;
  Topology graph = make_topology(workers, options);
  if (graph.schedule()) fail("changes from exchange to exchange itself");
  return graph;
}

Topology scheduled(std::string kind, int workers, std::vector<Edge> edges,
                   std::shared_ptr<const MixingSchedule> schedule) {
  std::ranges::sort(edges, {}, [](const Edge& edge) { return std::pair(edge.i, edge.j); });
  const auto same = [](const Edge& a, const Edge& b) { return a.i == b.i && a.j == b.j; };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
  Topology graph(kind, workers, std::move(edges));
  return std::move(graph).on_schedule(std::move(kind), std::move(schedule));
}

void add_edges(const MixingMatrix& matrix, std::vector<Edge>& edges) {
  for (int i = 0; const auto& row : matrix.neighbours) {
    for (const Neighbour& heard : row)
      edges.push_back({std::min(i, heard.worker), std::max(i, heard.worker)});
    ++i;
  }
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
