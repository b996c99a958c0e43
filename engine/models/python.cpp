#include <nlohmann/json.hpp>

#include "engine/models/layout.hpp"
#include "engine/python/model_process.hpp"

namespace acid {
namespace {

ProcessModel describe_python(const nlohmann::json& options) {
  const nlohmann::json told = describe_model(options);
  ProcessModel model{.layout = layout_told(told), .files = {}};
  for (const auto& file : told.at("files")) model.files.push_back(file.at(0));
  return model;
}

}  // namespace

ModelEntry python_model() {
  return {.name = "python",
          .summary = "what a Python file computes in a process of its own: PyTorch, NumPy, JAX",
          .fields = kProcessFields,
          .build = nullptr,
          .describe = &describe_python};
}

}  // namespace acid
