#pragma once

#include <stop_token>
#include <string>

#include "engine/base/error.hpp"

namespace acid {

/// Executes one run of a store from its start: the store is the only thing it is told. Records the
/// attempt, whatever its end. Returns the exit code of acid-worker. Throws Error for what went
/// wrong before there was an attempt to record it in.
Exit execute_run(const std::string& store_folder, const std::string& run_id,
                 const std::string& command_line, std::stop_token stop);

}  // namespace acid
