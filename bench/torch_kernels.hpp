#pragma once

#include <cstddef>

namespace acid::bench {

/// The mathematics of the engine's kernels in plain LibTorch, from a module that is loaded only for
/// this: acid-bench-torch.so. On one thread.
struct TorchKernels {
  /// Operates on vectors of `size` floats, in the order of the kernels' arguments: x, x̃, then own
  /// and partner's offer, or the partner's x and x̃, or g and the optimiser's state, or the
  /// destination of a copy.
  using Operation = void(float* const* vectors, std::size_t size);
  Operation* mix_and_apply = nullptr;
  Operation* exchange = nullptr;
  Operation* mix_and_sgd = nullptr;  // vectors[5]: the snapshot
  Operation* mix_and_adam = nullptr;
};

}  // namespace acid::bench

/// The module's only export; valid while the module is loaded.
extern "C" const acid::bench::TorchKernels* acid_bench_torch_kernels();
