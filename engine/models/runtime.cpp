#include "engine/base/module.hpp"
#include "engine/models/blas_core.hpp"
#include "engine/models/model.hpp"

namespace acid {

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
    return *load_module<ModelRuntime*()>(model_module())();
  }();
  return runtime;
}

}  // namespace acid
