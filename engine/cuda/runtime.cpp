#include "engine/cuda/runtime.hpp"

#include "engine/base/module.hpp"

namespace acid {

CudaRuntime& load_cuda_runtime() {
  static CudaRuntime& runtime = *load_module<CudaRuntime*()>(
      {.name = "acid-cuda.so",
       .variable = "ACID_CUDA_MODULE",
       .factory = "acid_cuda_runtime",
       .users = "execution.device = \"cuda\" needs it, execution.device = \"cpu\" does not",
       .needs = "the CUDA toolkit"})();
  return runtime;
}

}  // namespace acid
