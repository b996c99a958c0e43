#pragma once

#include "recipes/cadence.hpp"
#include "recipes/checker.hpp"

namespace acid {

/// The keys of execution.virtual.network about nodes, into its resolved JSON: workers_per_node as a
/// list, and the lines of the file that `matrix` names as a list of {nodes, latency_seconds,
/// bandwidth_bytes_per_second}, where null is the network's. `node`: the network's table.
void check_nodes(Checker& checker, const Node* node, nlohmann::json& network);

/// Reports nodes that have other workers than the recipe, and links of nodes that do not exist.
void check_nodes_fit(const nlohmann::json& network, int workers, const Report& report);

}  // namespace acid
