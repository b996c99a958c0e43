#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/topology/topology.hpp"

namespace acid {

/// The connected components of a graph, each ascending, ordered by their first worker. Edges of
/// weight 0 do not connect.
std::vector<std::vector<int>> connected_components(int workers, std::span<const Edge> edges);

/// "{0, 1, 2}, {3, 4} and 5 more", shortened for a message.
std::string describe_components(const std::vector<std::vector<int>>& components);

}  // namespace acid
