#pragma once

#include <nlohmann/json.hpp>

#include "recipes/checker.hpp"
#include "recipes/node.hpp"

namespace acid {

/// Checks the keys of [execution.mpi] that depend on each other. `node`: nullptr if the recipe has
/// no such table.
void check_mpi(Checker& checker, const Node* node, nlohmann::json& section);

/// Reports if `workers` processes do not fit on the listed hosts. `tree`: the recipe; `section`:
/// from check_mpi().
void check_room_on_hosts(Diagnostics& diagnostics, const Node& tree, const nlohmann::json& section,
                         int workers);

}  // namespace acid
