#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/doctor/mpi.hpp"

namespace acid {

/// Checks what runs with device = "cuda" need, from the "cuda" of `acid-worker --environment` (null
/// when the worker gave no answer): the GPUs and their driver, or why there is none, and NCCL.
void check_cuda(std::vector<Check>& checks, const nlohmann::json& cuda);

}  // namespace acid
