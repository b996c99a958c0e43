// The four IDX files of MNIST and its drop-in replacements, plain or .gz, under their usual names
// (train-images-idx3-ubyte, …). Format: http://yann.lecun.com/exdb/mnist. Images may have any size,
// the same in both sets; labels are 0 … 9.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
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

constexpr int kClasses = 10;
constexpr std::uint32_t kImageMagic = 0x00000803, kLabelMagic = 0x00000801;
constexpr std::uint32_t kLargestSide = 4096;
constexpr std::array<std::string_view, 4> kNames{
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte"};
constexpr const char* kIdxRemedy = "download the file again, or point task.dataset.root elsewhere";

// EMNIST's letters have the labels 1 to 26.
constexpr const char* kMoreClasses =
    " (other classes than ten, as in EMNIST, whose letters count from 1 and whose images are "
    "transposed, are for kind = \"npy\": see docs/DATA.md)";

struct Images {
  std::int64_t count = 0;
  int height = 0;
  int width = 0;
};

// Names files of other sets, or of this set from other sources, which have other names.
std::string words_of_others(const fs::path& root) {
  constexpr std::size_t kTold = 8;
  const auto is_asked_for = [](std::string_view name) {
    if (name.ends_with(".gz")) name.remove_suffix(3);
    return std::ranges::find(kNames, name) != kNames.end();
  };
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error))
    if (std::string name = entry->path().filename().string();
        name.find("idx") != name.npos && !is_asked_for(name))
      others.push_back(std::move(name));
  if (others.empty()) return "";
  std::ranges::sort(others);
  others.resize(std::min(others.size(), kTold));
  return fmt::format("; it has {}: unpack and rename what is of this set", fmt::join(others, ", "));
}

// The paths in the order of kNames; the plain file wins over the .gz beside it.
std::vector<std::string> locate(const nlohmann::json& options, std::string_view data_set) {
  const fs::path root = text(options, "root");
  std::vector<std::string> paths;
  std::string missing;
  for (const std::string_view name : kNames) {
    const std::string plain = (root / name).string(), packed = plain + ".gz";
    if (type_of_file(plain) == fs::file_type::regular)
      paths.push_back(plain);
    else if (type_of_file(packed) == fs::file_type::regular)
      paths.push_back(packed);
    else
      missing += fmt::format("\n  {} or {}.gz", name, name);
  }
  if (!missing.empty())
    throw UsageError(
        fmt::format("{} does not have these files of {}:{}\nput them there, or set "
                    "task.dataset.root to the folder that has them{}",
                    root.string(), data_set, missing, words_of_others(root)));
  return paths;
}

void expect_magic(ByteFile& file, std::uint32_t magic) {
  const std::uint32_t found = file.read_big_endian32("the IDX magic number");
  if (found != magic)
    file.fail(0, fmt::format("the IDX magic number {:#010x}", magic),
              fmt::format("{:#010x}", found));
}

std::int64_t read_count(ByteFile& file) {
  const std::int64_t at = file.offset();
  const std::uint32_t count = file.read_big_endian32("the number of examples");
  if (count == 0 || count > std::numeric_limits<std::int32_t>::max())
    file.fail(at, "1 to 2147483647 examples", fmt::format("{}", count));
  return count;
}

int read_side(ByteFile& file, std::string_view what) {
  const std::int64_t at = file.offset();
  const std::uint32_t side = file.read_big_endian32(what);
  if (side == 0 || side > kLargestSide)
    file.fail(at, fmt::format("{} between 1 and {}", what, kLargestSide), fmt::format("{}", side));
  return static_cast<int>(side);
}

Images read_image_header(ByteFile& file) {
  expect_magic(file, kImageMagic);
  Images images;
  images.count = read_count(file);
  images.height = read_side(file, "the number of rows");
  images.width = read_side(file, "the number of columns");
  file.expect_size(
      file.offset() + images.count * images.height * images.width,
      fmt::format("a header and {} images of {} × {}", images.count, images.height, images.width));
  return images;
}

void read_label_header(ByteFile& file, std::int64_t images) {
  expect_magic(file, kLabelMagic);
  const std::int64_t at = file.offset(), count = read_count(file);
  if (count != images)
    file.fail(at, fmt::format("as many labels as images, {}", images), fmt::format("{}", count));
  file.expect_size(file.offset() + count, fmt::format("a header and {} labels", count));
}

void expect_same_size(const Images& train, const Images& test, const ByteFile& test_file) {
  if (train.height != test.height || train.width != test.width)
    test_file.fail(8, fmt::format("images of {} × {} as in training", train.height, train.width),
                   fmt::format("{} × {}", test.height, test.width));
}

std::vector<std::int32_t> read_labels(ByteFile& file, std::int64_t count) {
  read_label_header(file, count);
  const std::int64_t begin = file.offset();
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(count));
  file.read(labels, "labels");
  file.expect_end();
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] >= kClasses)
      file.fail(begin + static_cast<std::int64_t>(i), "a label from 0 to 9",
                fmt::format("{}{}", labels[i], kMoreClasses));
  return {labels.begin(), labels.end()};
}

std::shared_ptr<const Split> read_split(ByteFile& image_file, const Images& images,
                                        const std::string& label_path,
                                        const ChannelStatistics& statistics) {
  std::vector<std::uint8_t> pixels(
      static_cast<std::size_t>(images.count * images.height * images.width));
  image_file.read(pixels, "pixels");
  image_file.expect_end();
  ByteFile label_file(label_path, kIdxRemedy);
  std::vector<std::int32_t> labels = read_labels(label_file, images.count);
  return std::make_shared<ByteImages>(DataShape{1, images.height, images.width, kClasses},
                                      std::move(pixels), std::move(labels),
                                      std::span(&statistics, 1));
}

Dataset read_idx(const std::vector<std::string>& paths, const ChannelStatistics& statistics) {
  ByteFile train_file(paths[0], kIdxRemedy), test_file(paths[2], kIdxRemedy);
  const Images train = read_image_header(train_file), test = read_image_header(test_file);
  expect_same_size(train, test, test_file);
  Dataset data;
  data.shape = {1, train.height, train.width, kClasses};
  data.train = read_split(train_file, train, paths[1], statistics);
  data.test = read_split(test_file, test, paths[3], statistics);
  return data;
}

struct IdxSet {
  std::string_view name;
  ChannelStatistics statistics;  // of the 60,000 training images
};

template <const IdxSet& set>
DataInfo inspect_idx(const nlohmann::json& options) {
  const std::vector<std::string> paths = locate(options, set.name);
  const Dataset data = read_idx(paths, set.statistics);
  DataInfo info{data.shape, data.train->size(), data.test->size(), paths};
  survey(info, {*data.train, kNormalisedBytes, paths[0], paths[1]},
         {*data.test, kNormalisedBytes, paths[2], paths[3]});
  return info;
}

template <const IdxSet& set>
Dataset load_idx(const nlohmann::json& options) {
  const std::vector<std::string> paths = locate(options, set.name);
  Dataset data = read_idx(paths, set.statistics);
  for (const std::string& path : paths) data.files.push_back({path, sha256_file(path)});
  return data;
}

template <const IdxSet& set>
DatasetEntry idx_entry(std::string_view summary, std::span<const Field> fields) {
  return {set.name, summary, fields, inspect_idx<set>, load_idx<set>, {&set.statistics, 1}};
}

constexpr IdxSet kMnist{"mnist", {0.1307f, 0.3081f}};
constexpr Field kMnistFields[] = {
    {"root", FieldType::file, "",
     "folder with the four IDX files, plain or .gz; 'scripts/fetch-mnist mnist' fetches them for "
     "dataset = { kind = \"mnist\", root = \"mnist\" }"},
};

constexpr IdxSet kFashionMnist{"fashion-mnist", {0.2860f, 0.3530f}};
constexpr Field kFashionMnistFields[] = {
    {"root", FieldType::file, "", "folder with the four IDX files, plain or .gz"},
};

}  // namespace

DatasetEntry dataset_mnist() {
  return idx_entry<kMnist>("MNIST, handwritten digits: 28 × 28, IDX files", kMnistFields);
}

DatasetEntry dataset_fashion_mnist() {
  return idx_entry<kFashionMnist>("Fashion-MNIST, clothing: 28 × 28, IDX files",
                                  kFashionMnistFields);
}

}  // namespace acid
