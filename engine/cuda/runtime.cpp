#include "engine/cuda/runtime.hpp"

#include "engine/base/module.hpp"

namespace acid {

CudaRuntime& load_cuda_runtime() {
  static CudaRuntime& runtime = *load_module<CudaRuntime*()>(
      {.name = "acid-cuda.so",
       .variable = "ACID_CUDA_MODULE",
       .factory = "acid_cuda_runtime",
       .remedy = "execution.device = \"cuda\" needs it: install the CUDA toolkit and build acid "
                 "with -DACID_WITH_CUDA=ON, set execution.device = \"cpu\""})();
  return runtime;
}

}  // namespace acid
