#include <nlohmann/json.hpp>

#include "engine/base/digest.hpp"
#include "engine/data/labelled_arrays.hpp"

namespace acid {
namespace {

constexpr auto kSafetensorsFields = with_array_fields(std::to_array<Field>({
    {"path", FieldType::file, "", "safetensors file with the tensors"},
    {"test_path", FieldType::file, "null", "file with the test tensors; default: the same file"},
    {"train_inputs", FieldType::text, "\"train_inputs\"", "name of a tensor: the training inputs"},
    {"train_labels", FieldType::text, "\"train_labels\"", "name of a tensor: the training labels"},
    {"test_inputs", FieldType::text, "\"test_inputs\"", "name of a tensor: the test inputs"},
    {"test_labels", FieldType::text, "\"test_labels\"", "name of a tensor: the test labels"},
}));

std::vector<std::string> safetensors_files(const nlohmann::json& options) {
  std::vector<std::string> files{text(options, "path")};
  if (options.at("test_path").is_string()) files.push_back(text(options, "test_path"));
  return files;
}

LabelledArrays safetensors_arrays(const nlohmann::json& options) {
  const std::vector<std::string> files = safetensors_files(options);
  const auto find = [&](const std::string& file, const char* key) {
    return MappedArray::safetensors(file, text(options, key));
  };
  return {find(files.front(), "train_inputs"), find(files.front(), "train_labels"),
          find(files.back(), "test_inputs"), find(files.back(), "test_labels")};
}

DataInfo inspect_safetensors(const nlohmann::json& options) {
  DataInfo info = inspect_arrays(options, safetensors_arrays(options));
  info.files = safetensors_files(options);
  return info;
}

Dataset load_safetensors(const nlohmann::json& options) {
  Dataset data = load_arrays(options, safetensors_arrays(options));
  for (const std::string& file : safetensors_files(options))
    data.files.push_back({file, sha256_file(file)});
  return data;
}

}  // namespace

DatasetEntry dataset_safetensors() {
  return {"safetensors", "images or vectors of your own, tensors of one safetensors file or two",
          kSafetensorsFields, inspect_safetensors, load_safetensors};
}

}  // namespace acid
