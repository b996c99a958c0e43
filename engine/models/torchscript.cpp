#include <nlohmann/json.hpp>

#include "engine/models/layout.hpp"
#include "engine/models/model.hpp"

namespace acid {
namespace {

constexpr Field kTorchscriptFields[] = {
    {.name = "path",
     .type = FieldType::file,
     .fallback = "",
     .help = "a file of torch.jit.script(module).save(path); its parameters are the start point, "
             "and docs/TORCHSCRIPT.md says what can be in it"},
};

}  // namespace

ModelEntry torchscript_model() {
  return {.name = "torchscript",
          .summary = "a module that PyTorch saved as TorchScript, from rows of features to logits",
          .fields = kTorchscriptFields,
          .build = nullptr,
          .read = [](const nlohmann::json& options, const DataShape& shape) {
            return load_model_runtime().read(text(options, "path"), shape);
          }};
}

}  // namespace acid
