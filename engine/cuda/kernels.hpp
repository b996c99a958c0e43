#pragma once

#include <cstddef>

#include "engine/worker/kernels.hpp"

namespace acid::cuda {

/// The kernels of engine/worker on the chosen device; the work is complete when a call returns.
/// Calls from several threads run side by side: each thread has a stream of its own. Vectors must
/// be memory of the backend; the arguments of copy may be any memory.
extern const kernels::Table<float> floats;
extern const kernels::Table<double> doubles;

/// out[k] ← x[positions[k]] for k < count ≤ kMostGathered. All arguments but x are host memory.
inline constexpr std::size_t kMostGathered = 64;
void gather(const float* x, const std::size_t* positions, std::size_t count, float* out);

}  // namespace acid::cuda
