#pragma once

#include <string>

#include "engine/base/error.hpp"

namespace acid {

/// Measures this host as a file of a CalibrationOrder says, with a thread for each worker, and
/// prints {"gradients", "cost", "model", "environment"} as JSON.
Exit calibrate(const std::string& order_file);

/// The same with a process for each worker, on all hosts of a run under MPI: every process that the
/// launcher has started calls it, and rank 0 reads the file and prints the result, which also has
/// "network".
Exit calibrate_mpi(const std::string& order_file, double start_seconds);

}  // namespace acid
