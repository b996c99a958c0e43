#include <array>

#include "engine/data/cifar.hpp"

namespace acid {
namespace {

constexpr auto kCifar100TrainFiles = std::to_array<std::string_view>({"train.bin"});
// Red, green, blue of the 50,000 training images.
constexpr auto kCifar100Statistics =
    std::to_array<ChannelStatistics>({{0.5071f, 0.2673f}, {0.4865f, 0.2564f}, {0.4409f, 0.2762f}});
constexpr CifarFormat kCifar100Format{"cifar100",          100,        2,
                                      kCifar100TrainFiles, "test.bin", kCifar100Statistics};

constexpr auto kCifar100Fields = std::to_array<Field>({
    {"root", FieldType::file, "", "folder with the binary version's files, train.bin and test.bin"},
});

DataInfo inspect_cifar100(const nlohmann::json& options) {
  return inspect_cifar(options, kCifar100Format);
}

Dataset load_cifar100(const nlohmann::json& options) {
  return load_cifar(options, kCifar100Format);
}

}  // namespace

DatasetEntry dataset_cifar100() {
  return {kCifar100Format.name, "CIFAR-100, photographs in 100 classes: 32 × 32, binary version",
          kCifar100Fields,      inspect_cifar100,
          load_cifar100,        kCifar100Statistics};
}

}  // namespace acid
