#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/data/dataset.hpp"
#include "engine/python/model_process.hpp"

namespace acid {
namespace {

DataInfo inspect_python(const nlohmann::json& options) {
  const nlohmann::json told = describe_dataset(options);
  DataInfo info;
  info.train_size = told.at("train");
  info.test_size = told.at("test");
  for (const auto& file : told.at("files")) info.files.push_back(file.at(0));
  return info;
}

Dataset load_python(const nlohmann::json& options) {
  throw UsageError(fmt::format(
      "the examples of {} are a Python process's own, and only a Python model sees them",
      text(options, "file")));
}

}  // namespace

/// What dataset() of the file gives. It stays in the processes that compute the gradients.
DatasetEntry dataset_python() {
  return {.name = "python",
          .summary = "what dataset() of a Python file gives, for a model of kind 'python'",
          .fields = kProcessFields,
          .inspect = inspect_python,
          .load = load_python,
          .in_process = true};
}

}  // namespace acid
