#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/doctor/mpi.hpp"

namespace acid {

/// Checks what runs with a model need, from what `acid-worker --environment` printed: LibTorch, the
/// library that multiplies matrices for it, its speed, and environment variables that do harm.
void check_models(std::vector<Check>& checks, const nlohmann::json& surroundings);

}  // namespace acid
