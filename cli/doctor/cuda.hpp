#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/doctor/mpi.hpp"

namespace acid {

/// What runs with device = "cuda" find here, from the "cuda" of `acid-worker --environment` (null
/// where that could not be asked): the GPUs and their driver, or why there is none, and NCCL.
void check_cuda(std::vector<Check>& checks, const nlohmann::json& cuda);

}  // namespace acid
