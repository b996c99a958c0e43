#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/topology/topology.hpp"

// For the files of the catalog only; everyone else uses topology.hpp.
namespace acid {

// Each kind's file defines its entry, a constant, so that no order of initialisation matters.
#define TOPOLOGY(stem) extern const TopologyEntry stem##_topology;
#include "engine/topology/catalog.inc"
#undef TOPOLOGY

/// Every worker i lists i + h and i − h (mod n) for each hop h, so that h = n/2 counts twice.
Topology circulant(std::string kind, int workers, const std::vector<int>& hops);

/// Throws UsageError when a generated graph would store more than 20 million edges (about 1.5 GB).
void require_storable(std::string_view kind, double edges);

/// A graph that does not change, by the name of its kind, with the fallbacks of its options. `kind`
/// is whose base it is. Throws UsageError.
Topology base_graph(std::string_view kind, int workers, const std::string& name);

/// The graph of all edges that a schedule uses, on that schedule. Edges of weight 1, each once.
Topology scheduled(std::string kind, int workers, std::vector<Edge> edges,
                   std::shared_ptr<const MixingSchedule> schedule);
/// Appends who hears whom.
void add_edges(const MixingMatrix& matrix, std::vector<Edge>& edges);

/// A random graph, connected or not, with `degree` < workers neighbours for everyone; workers ×
/// degree is even.
std::vector<Edge> regular_edges(int workers, int degree, Stream& stream);

}  // namespace acid
