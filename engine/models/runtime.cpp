#include "engine/base/module.hpp"
#include "engine/models/model.hpp"

namespace acid {

ModelRuntime& load_model_runtime() {
  static ModelRuntime& runtime = *load_module<ModelRuntime*()>(
      {.name = "acid-torch.so",
       .variable = "ACID_TORCH_MODULE",
       .factory = "acid_torch_runtime",
       .remedy = "models need LibTorch (quadratic and logistic tasks do not): install it (on "
                 "Debian: apt install libtorch-dev) and build acid with -DACID_WITH_TORCH=ON"})();
  return runtime;
}

}  // namespace acid
