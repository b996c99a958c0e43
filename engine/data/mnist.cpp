#include <array>

#include "engine/data/idx.hpp"

namespace acid {
namespace {

constexpr std::string_view kMnistName = "mnist";
constexpr ChannelStatistics kMnistStatistics{0.1307f, 0.3081f};  // of the 60,000 training images

constexpr auto kMnistFields = std::to_array<Field>({
    {"root", FieldType::file, "",
     "folder with the four IDX files, plain or .gz; 'scripts/fetch-mnist mnist' fetches them for "
     "dataset = { kind = \"mnist\", root = \"mnist\" }"},
});

DataInfo inspect_mnist(const nlohmann::json& options) {
  return inspect_idx(options, kMnistName, kMnistStatistics);
}

Dataset load_mnist(const nlohmann::json& options) {
  return load_idx(options, kMnistName, kMnistStatistics);
}

}  // namespace

DatasetEntry dataset_mnist() {
  return {kMnistName,   "MNIST, handwritten digits: 28 × 28, IDX files",
          kMnistFields, inspect_mnist,
          load_mnist,   {&kMnistStatistics, 1}};
}

}  // namespace acid
