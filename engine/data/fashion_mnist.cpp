#include <array>

#include "engine/data/idx.hpp"

namespace acid {
namespace {

constexpr std::string_view kName = "fashion-mnist";
constexpr ChannelStatistics kStatistics{0.2860f, 0.3530f};  // of the 60,000 training images

constexpr auto kFields = std::to_array<Field>({
    {"root", FieldType::file, "", "folder with the four IDX files, plain or .gz"},
});

DataInfo inspect(const nlohmann::json& options) { return inspect_idx(options, kName); }

Dataset load(const nlohmann::json& options) { return load_idx(options, kName, kStatistics); }

}  // namespace

DatasetEntry dataset_fashion_mnist() {
  return {kName,   "Fashion-MNIST, clothing: 28 × 28, IDX files",
          kFields, inspect,
          load,    {&kStatistics, 1}};
}

}  // namespace acid
