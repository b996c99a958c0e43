#include "engine/data/cifar.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/data/byte_file.hpp"
#include "engine/data/survey.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 32, kChannels = 3;
constexpr std::int64_t kPixelBytes = kChannels * kSide * kSide;
constexpr const char* kRemedy =
    "unpack the binary version again, or point task.dataset.root elsewhere";

// The training files in order, then the test file.
std::vector<std::string> locate(const nlohmann::json& options, const CifarFormat& format) {
  const fs::path root = text(options, "root");
  std::vector<std::string_view> names(format.train_files.begin(), format.train_files.end());
  names.push_back(format.test_file);
  std::vector<std::string> paths;
  std::string missing;
  for (const std::string_view name : names) {
    paths.push_back((root / name).string());
    if (!fs::is_regular_file(paths.back())) missing += fmt::format("\n  {}", name);
  }
  if (!missing.empty())
    throw UsageError(
        fmt::format("{} does not have these files of the binary version of {}:{}\nput "
                    "them there, or set task.dataset.root to the folder that has them",
                    root.string(), format.name, missing));
  return paths;
}

std::int64_t count_records(const std::string& path, const CifarFormat& format) {
  const auto size = static_cast<std::int64_t>(fs::file_size(path));
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

}  // namespace

DataInfo inspect_cifar(const nlohmann::json& options, const CifarFormat& format) {
  const std::vector<std::string> paths = locate(options, format);
  const Dataset data = read_cifar(paths, format);
  DataInfo info{data.shape, data.train->size(), data.test->size(), paths};
  survey(info, sample_of(*data.train, data.shape, paths.front(), kNormalisedBytes),
         sample_of(*data.test, data.shape, paths.back(), kNormalisedBytes));
  return info;
}

Dataset load_cifar(const nlohmann::json& options, const CifarFormat& format) {
  const std::vector<std::string> paths = locate(options, format);
  Dataset data = read_cifar(paths, format);
  for (const std::string& path : paths) data.files.push_back({path, sha256_file(path)});
  return data;
}

}  // namespace acid
