#pragma once

#include <cstddef>

namespace acid::bench {

/// The mathematics of the engine's kernels as one would write it with LibTorch, from a module that
/// is loaded for it alone: acid-bench-torch.so. On one thread.
struct TorchKernels {
  /// In vectors of `size` floats, in the order in which the kernels' arguments have them: x, x̃,
  /// then own and partner's offer, or the partner's x and x̃, or g and the optimiser's state, or
  /// what is copied to.
  using Operation = void(float* const* vectors, std::size_t size);
  Operation* mix_and_apply = nullptr;
  Operation* exchange = nullptr;
  Operation* mix_and_sgd = nullptr;  // vectors[5]: the snapshot
  Operation* mix_and_adam = nullptr;
};

}  // namespace acid::bench

/// What the module exports; valid as long as it is loaded.
extern "C" const acid::bench::TorchKernels* acid_bench_torch_kernels();
