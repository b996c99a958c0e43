#include <array>

#include "engine/data/cifar.hpp"

namespace acid {
namespace {

constexpr auto kTrainFiles = std::to_array<std::string_view>({"train.bin"});
// Of the 50,000 training images: red, green, blue.
constexpr auto kStatistics =
    std::to_array<ChannelStatistics>({{0.5071f, 0.2673f}, {0.4865f, 0.2564f}, {0.4409f, 0.2762f}});
constexpr CifarFormat kFormat{"cifar100", 100, 2, kTrainFiles, "test.bin", kStatistics};

constexpr auto kFields = std::to_array<Field>({
    {"root", FieldType::file, "", "folder with the binary version's files, train.bin and test.bin"},
});

DataInfo inspect(const nlohmann::json& options) { return inspect_cifar(options, kFormat); }

Dataset load(const nlohmann::json& options) { return load_cifar(options, kFormat); }

}  // namespace

DatasetEntry dataset_cifar100() {
  return {kFormat.name, "CIFAR-100, photographs in 100 classes: 32 × 32, binary version",
          kFields,      inspect,
          load,         kStatistics};
}

}  // namespace acid
