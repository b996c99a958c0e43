#pragma once

#include <nlohmann/json.hpp>

#include "recipes/checker.hpp"
#include "recipes/node.hpp"

namespace acid {

/// [execution.mpi], completed, slow_workers apart. `node`: nullptr when the recipe leaves it out.
nlohmann::json check_mpi(Checker& checker, const Node* node);

/// Takes out of a run's settings what says where and by whom its processes are started: the run
/// stays the same run when that changes.
void forget_placement(nlohmann::json& settings);

/// With a list of hosts: reports when `workers` processes do not fit on them. `tree` is the recipe,
/// `section` what check_mpi() gave.
void check_room_on_hosts(Diagnostics& diagnostics, const Node& tree, const nlohmann::json& section,
                         int workers);

}  // namespace acid
