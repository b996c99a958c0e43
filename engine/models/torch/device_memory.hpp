#pragma once

#include <ATen/ATen.h>

namespace acid {

/// Whether kernels of LibTorch on a GPU can work on this memory where it lies at full speed: the
/// engine's device memory yes, the host's no, pinned or not. Takes microseconds.
bool lies_on_device(const float* memory);

/// Gives the calling thread a stream of its own on that device, once: workers on one GPU compute
/// beside each other. Results are there once the stream is waited for, as Tensor::item() does.
void use_own_stream(at::Device device);

}  // namespace acid
