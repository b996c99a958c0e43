#pragma once

#include "engine/worker/backend.hpp"

namespace acid::cuda {

/// Memory of the chosen device that the host can read and write, too: pages move to the host when
/// the host touches them, and back when a kernel does.
const Backend& device_backend();

}  // namespace acid::cuda
