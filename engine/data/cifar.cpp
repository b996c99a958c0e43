#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/data/byte_file.hpp"
#include "engine/data/dataset.hpp"
#include "engine/data/splits.hpp"
#include "engine/data/survey.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 32, kChannels = 3;
constexpr std::int64_t kPixelBytes = kChannels * kSide * kSide;
constexpr const char* kRemedy =
    "unpack the binary version again, or point task.dataset.root elsewhere";

/// The difference between the two CIFAR sets. A record of the binary version is `label_bytes`
/// labels, of which the last counts, and 3 × 32 × 32 bytes:
/// https://www.cs.toronto.edu/~kriz/cifar.html.
struct CifarFormat {
  std::string_view name;
  int classes;
  int label_bytes;
  std::span<const std::string_view> train_files;
  std::string_view test_file;
  std::span<const ChannelStatistics> statistics;  // red, green, blue of the 50,000 training images
};

// The training files in order, then the test file.
std::vector<std::string> locate(const nlohmann::json& options, const CifarFormat& format) {
  const fs::path root = text(options, "root");
  std::vector<std::string_view> names(format.train_files.begin(), format.train_files.end());
  names.push_back(format.test_file);
  std::vector<std::string> paths;
  std::string missing;
  for (const std::string_view name : names) {
    paths.push_back((root / name).string());
    if (type_of_file(paths.back()) != fs::file_type::regular)
      missing += fmt::format("\n  {}", name);
  }
  if (!missing.empty())
    throw UsageError(
        fmt::format("{} does not have these files of the binary version of {}:{}\nput "
                    "them there, or set task.dataset.root to the folder that has them",
                    root.string(), format.name, missing));
  return paths;
}

std::int64_t count_records(const std::string& path, const CifarFormat& format) {
  if (const Packing* packing = packing_of_file(path))  // no record begins so
    throw Error(
        fmt::format("{}: it is packed ({}); {}", path, packing->name, packing->remedy(path)));
  const std::int64_t size = RegularFile(path).bytes();
  const std::int64_t record = format.label_bytes + kPixelBytes, count = size / record;
  if (count == 0 || size % record != 0)
    ByteFile(path, kRemedy)
        .fail(count * record, fmt::format("whole records of {} bytes", record),
              fmt::format("{} bytes before the end of the file", size % record));
  return count;
}

struct Records {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
};

void append_records(const std::string& path, const CifarFormat& format, Records& records) {
  const std::int64_t count = count_records(path, format);
  ByteFile file(path, kRemedy);
  std::vector<std::uint8_t> record(static_cast<std::size_t>(format.label_bytes + kPixelBytes));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t label_offset = file.offset() + format.label_bytes - 1;
    file.read(record, "a record");
    const std::uint8_t label = record[static_cast<std::size_t>(format.label_bytes) - 1];
    if (label >= format.classes)
      file.fail(label_offset, fmt::format("a label from 0 to {}", format.classes - 1),
                fmt::format("{}", label));
    records.labels.push_back(label);
    records.pixels.insert(records.pixels.end(), record.begin() + format.label_bytes, record.end());
  }
  file.expect_end();
}

DataShape shape_of(const CifarFormat& format) { return {kChannels, kSide, kSide, format.classes}; }

std::shared_ptr<const Split> read_split(std::span<const std::string> paths,
                                        const CifarFormat& format) {
  Records records;
  std::int64_t count = 0;
  for (const std::string& path : paths) count += count_records(path, format);
  records.labels.reserve(static_cast<std::size_t>(count));
  records.pixels.reserve(static_cast<std::size_t>(count * kPixelBytes));
  for (const std::string& path : paths) append_records(path, format, records);
  return std::make_shared<ByteImages>(shape_of(format), std::move(records.pixels),
                                      std::move(records.labels), format.statistics);
}

Dataset read_cifar(const std::vector<std::string>& paths, const CifarFormat& format) {
  const auto all = std::span(paths);
  Dataset data;
  data.shape = shape_of(format);
  data.train = read_split(all.first(format.train_files.size()), format);
  data.test = read_split(all.subspan(format.train_files.size()), format);
  return data;
}

template <const CifarFormat& format>
DataInfo inspect_cifar(const nlohmann::json& options) {
  const std::vector<std::string> paths = locate(options, format);
  const Dataset data = read_cifar(paths, format);
  DataInfo info{data.shape, data.train->size(), data.test->size(), paths};
  survey(info, {*data.train, kNormalisedBytes, paths.front()},
         {*data.test, kNormalisedBytes, paths.back()});
  return info;
}

template <const CifarFormat& format>
Dataset load_cifar(const nlohmann::json& options) {
  const std::vector<std::string> paths = locate(options, format);
  Dataset data = read_cifar(paths, format);
  for (const std::string& path : paths) data.files.push_back({path, sha256_file(path)});
  return data;
}

template <const CifarFormat& format>
DatasetEntry cifar_entry(std::string_view summary, std::span<const Field> fields) {
  return {format.name,        summary,          fields, inspect_cifar<format>,
          load_cifar<format>, format.statistics};
}

constexpr std::string_view kCifar10Files[] = {"data_batch_1.bin", "data_batch_2.bin",
                                              "data_batch_3.bin", "data_batch_4.bin",
                                              "data_batch_5.bin"};
constexpr ChannelStatistics kCifar10Statistics[] = {
    {0.4914f, 0.2470f}, {0.4822f, 0.2435f}, {0.4465f, 0.2616f}};
constexpr CifarFormat kCifar10{"cifar10",         10, 1, kCifar10Files, "test_batch.bin",
                               kCifar10Statistics};
constexpr Field kCifar10Fields[] = {
    {"root", FieldType::file, "", "folder with the binary version's files, data_batch_1.bin …"},
};

constexpr std::string_view kCifar100Files[] = {"train.bin"};
constexpr ChannelStatistics kCifar100Statistics[] = {
    {0.5071f, 0.2673f}, {0.4865f, 0.2564f}, {0.4409f, 0.2762f}};
constexpr CifarFormat kCifar100{"cifar100",     100,        2,
                                kCifar100Files, "test.bin", kCifar100Statistics};
constexpr Field kCifar100Fields[] = {
    {"root", FieldType::file, "", "folder with the binary version's files, train.bin and test.bin"},
};

}  // namespace

DatasetEntry dataset_cifar10() {
  return cifar_entry<kCifar10>("CIFAR-10, photographs in 10 classes: 32 × 32, binary version",
                               kCifar10Fields);
}

DatasetEntry dataset_cifar100() {
  return cifar_entry<kCifar100>("CIFAR-100, photographs in 100 classes: 32 × 32, binary version",
                                kCifar100Fields);
}

}  // namespace acid
