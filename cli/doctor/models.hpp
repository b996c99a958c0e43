#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/doctor/mpi.hpp"

namespace acid {

/// What runs with a model find here, from what `acid-worker --environment` printed: LibTorch, the
/// library that multiplies matrices for it, how fast that is, and which environment variables stand
/// in the way.
void check_models(std::vector<Check>& checks, const nlohmann::json& surroundings);

}  // namespace acid
