#pragma once

#include <ATen/ATen.h>

namespace acid {

/// Whether LibTorch's kernels on a GPU can use this memory in place at full speed: the engine's
/// device memory yes, the host's no, pinned or not. Takes microseconds.
bool lies_on_device(const float* memory);

/// Gives the calling thread a stream of its own on that device, once, so that workers on one GPU
/// compute side by side. Results are complete after waiting for the stream, as Tensor::item() does.
void use_own_stream(at::Device device);

}  // namespace acid
