#pragma once

#include "engine/worker/backend.hpp"

namespace acid::cuda {

/// Memory of the chosen device, which the host can read and write too: pages move there when it
/// does, and back when a kernel wants them.
const Backend& device_backend();

}  // namespace acid::cuda
