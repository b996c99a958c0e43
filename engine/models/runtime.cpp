#include <atomic>
#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "engine/base/module.hpp"
#include "engine/models/blas_core.hpp"
#include "engine/models/model.hpp"

namespace acid {
namespace {

// Every gradient allocates tensors of megabytes and frees them again. By default the C library
// gives such memory back to the kernel each time, which clears its pages for the next gradient.
void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kLargest = 32 << 20;  // that glibc accepts
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

std::atomic<bool> runtime_is_loaded = false;

}  // namespace

const Module& model_module() {
  static constexpr Module kModule{
      .name = "acid-torch.so",
      .variable = "ACID_TORCH_MODULE",
      .factory = "acid_torch_runtime",
      .users = "built-in models need it, analytic tasks and Python models do not",
      .needs = "LibTorch (on Debian: apt install libtorch-dev)"};
  return kModule;
}

ModelRuntime& load_model_runtime() {
  static ModelRuntime& runtime = [&]() -> ModelRuntime& {
    choose_blas_core();
    keep_freed_memory();
    return *load_module<ModelRuntime*()>(model_module())();
  }();
  runtime_is_loaded = true;
  return runtime;
}

bool model_runtime_is_loaded() { return runtime_is_loaded; }

}  // namespace acid
