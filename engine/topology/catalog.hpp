#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace acid
