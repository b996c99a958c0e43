#pragma once

#include <cstddef>

#include "engine/worker/kernels.hpp"

namespace acid::cuda {

/// The kernels of engine/worker on the chosen device, complete when a call returns. Calls from
/// several threads run beside each other: each thread has a stream of its own. Vectors are memory
/// of the backend, but for the arguments of copy and the `out` of copy_mixed, which may be any.
extern const kernels::Table<float> floats;
extern const kernels::Table<double> doubles;

/// out[k] ← x[positions[k]] for k < count, which is at most kMostGathered. All but x is the host's.
inline constexpr std::size_t kMostGathered = 64;
void gather(const float* x, const std::size_t* positions, std::size_t count, float* out);

}  // namespace acid::cuda
