#include <array>

#include "engine/data/cifar.hpp"

namespace acid {
namespace {

constexpr auto kTrainFiles =
    std::to_array<std::string_view>({"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                     "data_batch_4.bin", "data_batch_5.bin"});
// Of the 50,000 training images: red, green, blue.
constexpr auto kStatistics =
    std::to_array<ChannelStatistics>({{0.4914f, 0.2470f}, {0.4822f, 0.2435f}, {0.4465f, 0.2616f}});
constexpr CifarFormat kFormat{"cifar10", 10, 1, kTrainFiles, "test_batch.bin", kStatistics};

constexpr auto kFields = std::to_array<Field>({
    {"root", FieldType::file, "", "folder with the binary version's files, data_batch_1.bin …"},
});

DataInfo inspect(const nlohmann::json& options) { return inspect_cifar(options, kFormat); }

Dataset load(const nlohmann::json& options) { return load_cifar(options, kFormat); }

}  // namespace

DatasetEntry dataset_cifar10() {
  return {kFormat.name, "CIFAR-10, photographs in 10 classes: 32 × 32, binary version",
          kFields,      inspect,
          load,         kStatistics};
}

}  // namespace acid
