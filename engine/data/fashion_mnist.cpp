#include <array>

#include "engine/data/idx.hpp"

namespace acid {
namespace {

constexpr std::string_view kFashionMnistName = "fashion-mnist";
// Statistics of the 60,000 training images.
constexpr ChannelStatistics kFashionMnistStatistics{0.2860f, 0.3530f};

constexpr auto kFashionMnistFields = std::to_array<Field>({
    {"root", FieldType::file, "", "folder with the four IDX files, plain or .gz"},
});

DataInfo inspect_fashion_mnist(const nlohmann::json& options) {
  return inspect_idx(options, kFashionMnistName, kFashionMnistStatistics);
}

Dataset load_fashion_mnist(const nlohmann::json& options) {
  return load_idx(options, kFashionMnistName, kFashionMnistStatistics);
}

}  // namespace

DatasetEntry dataset_fashion_mnist() {
  return {kFashionMnistName,   "Fashion-MNIST, clothing: 28 × 28, IDX files",
          kFashionMnistFields, inspect_fashion_mnist,
          load_fashion_mnist,  {&kFashionMnistStatistics, 1}};
}

}  // namespace acid
