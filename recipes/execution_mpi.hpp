#pragma once

#include <nlohmann/json.hpp>

#include "recipes/checker.hpp"
#include "recipes/node.hpp"

namespace acid {

/// What of [execution.mpi] depends on its other keys. `node`: nullptr when the recipe leaves it
/// out.
void check_mpi(Checker& checker, const Node* node, nlohmann::json& section);

/// With a list of hosts: reports when `workers` processes do not fit on them. `tree` is the recipe,
/// `section` what check_mpi() left.
void check_room_on_hosts(Diagnostics& diagnostics, const Node& tree, const nlohmann::json& section,
                         int workers);

}  // namespace acid
