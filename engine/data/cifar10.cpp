#include <array>

#include "engine/data/cifar.hpp"

namespace acid {
namespace {

constexpr auto kCifar10TrainFiles =
    std::to_array<std::string_view>({"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                     "data_batch_4.bin", "data_batch_5.bin"});
// Red, green, blue of the 50,000 training images.
constexpr auto kCifar10Statistics =
    std::to_array<ChannelStatistics>({{0.4914f, 0.2470f}, {0.4822f, 0.2435f}, {0.4465f, 0.2616f}});
constexpr CifarFormat kCifar10Format{"cifar10",         10, 1, kCifar10TrainFiles, "test_batch.bin",
                                     kCifar10Statistics};

constexpr auto kCifar10Fields = std::to_array<Field>({
    {"root", FieldType::file, "", "folder with the binary version's files, data_batch_1.bin …"},
});

DataInfo inspect_cifar10(const nlohmann::json& options) {
  return inspect_cifar(options, kCifar10Format);
}

Dataset load_cifar10(const nlohmann::json& options) { return load_cifar(options, kCifar10Format); }

}  // namespace

DatasetEntry dataset_cifar10() {
  return {kCifar10Format.name, "CIFAR-10, photographs in 10 classes: 32 × 32, binary version",
          kCifar10Fields,      inspect_cifar10,
          load_cifar10,        kCifar10Statistics};
}

}  // namespace acid
