#pragma once

#include <optional>
#include <string>

#include "engine/base/error.hpp"

namespace acid {

/// Tells acid on kMoreRuns how this process's run ended, and waits for the next one. Returns what
/// acid answers: a run's id, and after it " --fresh" where the run is to start again. Absent when
/// there is none, acid is gone, or the process has grown so large that another one should follow.
std::optional<std::string> next_run(Exit ended);

}  // namespace acid
