#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/mixing.hpp"
#include "engine/worker/backend.hpp"
#include "engine/worker/optimizer.hpp"

namespace acid {

/// What all workers of a run share; outlives them.
struct WorkerSettings {
  std::size_t dimension = 0;
  std::size_t buffer_size = 0;  // floats
  Mixing mixing;
  OptimizerSettings optimizer;
  std::vector<DecayRange> decay;  // covers [0, dimension)
  const Backend* backend = &cpu_backend();
  int threads = 1;        // share a kernel's work on long vectors in host memory; changes no bit
  bool gradients = true;  // false: none will be computed, and nothing is kept for any
  bool snapshots = true;  // false: x never changes while a gradient is in flight, and is not copied
};

}  // namespace acid
