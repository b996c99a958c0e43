#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/topology/topology.hpp"

// Only for the files of the catalog; other files use topology.hpp.
namespace acid {

// Each kind's file defines its entry, a constant, so that no order of initialisation matters.
#define TOPOLOGY(stem) extern const TopologyEntry stem##_topology;
#include "engine/topology/catalog.inc"
#undef TOPOLOGY

/// A graph in which every worker i lists i + h and i − h (mod n) for each hop h; h = n/2 counts
/// twice.
Topology circulant(std::string kind, int workers, const std::vector<int>& hops);

/// Throws UsageError when a generated graph would store more than 20 million edges (about 1.5 GB).
void require_storable(std::string_view kind, double edges);

/// An unchanging graph by the name of its kind, with the fallbacks of its options. `kind`: the
/// topology that is based on it. Throws UsageError.
Topology base_graph(std::string_view kind, int workers, const std::string& name);

/// The graph of all edges that a schedule uses, with that schedule. Edges of weight 1, each once.
Topology scheduled(std::string kind, int workers, std::vector<Edge> edges,
                   std::shared_ptr<const MixingSchedule> schedule);
/// Appends an edge between each worker and each worker that it hears.
void add_edges(const MixingMatrix& matrix, std::vector<Edge>& edges);

/// A random graph, connected or not, in which every worker has `degree` < workers neighbours;
/// workers × degree must be even.
std::vector<Edge> regular_edges(int workers, int degree, Stream& stream);

}  // namespace acid
