#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/digest.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/data/labelled_arrays.hpp"

namespace acid {
namespace {

// In the order of LabelledArrays.
constexpr std::array<std::string_view, 4> kNpyKeys{"train_inputs", "train_labels", "test_inputs",
                                                   "test_labels"};

constexpr auto kNpyFields = with_array_fields(std::to_array<Field>({
    {"root", FieldType::file, "null",
     "folder with train_inputs.npy, train_labels.npy, test_inputs.npy and test_labels.npy"},
    {kNpyKeys[0], FieldType::file, "null", "another file instead"},
    {kNpyKeys[1], FieldType::file, "null", "another file instead"},
    {kNpyKeys[2], FieldType::file, "null", "another file instead"},
    {kNpyKeys[3], FieldType::file, "null", "another file instead"},
}));

std::vector<std::string> npy_files(const nlohmann::json& options) {
  std::vector<std::string> files;
  std::string missing;
  for (const std::string_view key : kNpyKeys) {
    const nlohmann::json &own = options.at(std::string(key)), &root = options.at("root");
    const std::string name = fmt::format("{}.npy", key);
    if (own.is_string())
      files.push_back(own);
    else if (root.is_null())
      throw UsageError(
          fmt::format("nothing says where {} is: set task.dataset.root to the folder that has it, "
                      "or task.dataset.{} to the file",
                      name, key));
    else
      files.push_back((std::filesystem::path(root.get<std::string>()) / name).string());
    if (type_of_file(files.back()) == std::filesystem::file_type::not_found)
      missing += "\n  " + files.back();
  }
  if (!missing.empty())
    throw UsageError(
        fmt::format("these files are missing:{}\nsave them with numpy.save, or set "
                    "task.dataset.root to the folder that has them",
                    missing));
  return files;
}

LabelledArrays npy_arrays(const std::vector<std::string>& files) {
  return {MappedArray::npy(files[0]), MappedArray::npy(files[1]), MappedArray::npy(files[2]),
          MappedArray::npy(files[3])};
}

DataInfo inspect_npy(const nlohmann::json& options) {
  std::vector<std::string> files = npy_files(options);
  DataInfo info = inspect_arrays(options, npy_arrays(files));
  info.files = std::move(files);
  return info;
}

Dataset load_npy(const nlohmann::json& options) {
  const std::vector<std::string> files = npy_files(options);
  Dataset data = load_arrays(options, npy_arrays(files));
  for (const std::string& file : files) data.files.push_back({file, sha256_file(file)});
  return data;
}

}  // namespace

DatasetEntry dataset_npy() {
  return {"npy", "images or vectors of your own, arrays saved by NumPy", kNpyFields, inspect_npy,
          load_npy};
}

}  // namespace acid
