#pragma once

#include <string>

#include "engine/base/error.hpp"

namespace acid {

/// Measures this host as a file of a CalibrationOrder says, with a thread for each worker, and
/// prints {"gradients", "cost", "model", "environment"} as JSON.
Exit calibrate(const std::string& order_file);

}  // namespace acid
