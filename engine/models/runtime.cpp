#include <atomic>

#include "engine/base/module.hpp"
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

namespace {

std::atomic<bool> runtime_is_loaded = false;

}  // namespace

ModelRuntime& load_model_runtime() {
  static ModelRuntime& runtime = *load_module<ModelRuntime*()>(model_module())();
  runtime_is_loaded = true;
  return runtime;
}

bool model_runtime_is_loaded() { return runtime_is_loaded; }

}  // namespace acid
