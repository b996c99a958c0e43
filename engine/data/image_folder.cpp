#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/data/image_list.hpp"
#include "engine/data/image_scaling.hpp"
#include "engine/data/labelled_arrays.hpp"
#include "engine/data/splits.hpp"
#include "engine/data/survey.hpp"

namespace acid {
namespace {

constexpr double kLongestSide = 8192;

constexpr auto kImageFolderFields = std::to_array<Field>({
    {.name = "root",
     .type = FieldType::file,
     .fallback = "",
     .help = "folder with train/CLASS/IMAGE and test/CLASS/IMAGE, or val/CLASS/IMAGE where there "
             "is no test: JPEG and PNG files"},
    {.name = "height",
     .type = FieldType::integer,
     .fallback = "32",
     .help = "pixels: images are scaled to cover height and width, and their middle is cut out",
     .minimum = 1,
     .maximum = kLongestSide},
    {.name = "width",
     .type = FieldType::integer,
     .fallback = "32",
     .help = "pixels",
     .minimum = 1,
     .maximum = kLongestSide},
    {.name = "channels",
     .type = FieldType::integer,
     .fallback = "3",
     .help = "3: red, green and blue; 1: grey. Images of the other kind are converted",
     .minimum = 1,
     .maximum = 3},
    kArrayFields[1],
    kArrayFields[2],
    {.name = "decode_threads",
     .type = FieldType::integer,
     .fallback = "null",
     .help = "threads that read the images when a run starts; by default as many as processors",
     .minimum = 1,
     .maximum = 1024,
     .placement = true},
});
static_assert(kArrayFields[1].name == "mean" && kArrayFields[2].name == "deviation");

DataShape shape_of(const nlohmann::json& options, const ImageList& list) {
  const auto side = [&](const char* key) { return static_cast<int>(integer(options, key)); };
  const DataShape shape{side("channels"), side("height"), side("width"),
                        static_cast<int>(list.classes.size())};
  if (shape.channels == 2)
    throw UsageError("task.dataset.channels is 2: write 1 for grey images, or 3");
  statistics_of(options, shape.channels);
  return shape;
}

void expect_memory(const DataShape& shape, const ImageList& list) {
  const auto images = static_cast<std::int64_t>(list.train.names.size() + list.test.names.size());
  const double needed = static_cast<double>(images) * static_cast<double>(shape.features());
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > there)
    throw UsageError(fmt::format(
        "{} images of {} × {} × {} bytes take {:.1f} GB, and this machine has {:.1f} GB "
        "of memory: make height and width smaller, or save arrays and use kind = "
        "\"npy\", which stays on the disk",
        images, shape.channels, shape.height, shape.width, needed / 1e9, there / 1e9));
}

std::vector<std::uint8_t> content_of(const std::string& path) {
  const RegularFile file(path);
  std::vector<std::uint8_t> content(static_cast<std::size_t>(file.bytes()));
  content.resize(file.read(std::as_writable_bytes(std::span(content))));
  return content;
}

struct DecodedPart {
  std::vector<std::uint8_t> pixels;
  std::vector<std::string> digests;  // SHA-256 of the files
};

DecodedPart decode(const ImageList::Part& part, const DataShape& shape, int threads) {
  const auto width = static_cast<std::size_t>(shape.features());
  DecodedPart decoded;
  decoded.pixels.resize(part.names.size() * width);
  decoded.digests.resize(part.names.size());
  for_each_image(std::ssize(part.names), threads, [&](std::int64_t image) {
    const auto k = static_cast<std::size_t>(image);
    const std::vector<std::uint8_t> content = content_of(part.path(k));
    decoded.digests[k] = sha256_hex(std::as_bytes(std::span(content)));
    fit_image(decode_image(part.path(k), content), shape,
              std::span(decoded.pixels).subspan(k * width, width));
  });
  return decoded;
}

int threads_of(const nlohmann::json& options) {
  const nlohmann::json& asked = options.at("decode_threads");
  return asked.is_null() ? static_cast<int>(std::thread::hardware_concurrency()) : asked.get<int>();
}

/// A part of which every `step`th image is decoded, for a survey.
class DecodedSome final : public LabelledSplit {
 public:
  DecodedSome(const ImageList::Part& part, const DataShape& shape, const nlohmann::json& options,
              std::int64_t step)
      : LabelledSplit(part.labels), step_(step) {
    ImageList::Part some{part.folder, {}, {}};
    for (std::size_t k = 0; k < part.names.size(); k += static_cast<std::size_t>(step)) {
      some.names.push_back(part.names[k]);
      some.labels.push_back(part.labels[k]);
    }
    images_.emplace(shape, decode(some, shape, threads_of(options)).pixels, some.labels,
                    statistics_of(options, shape.channels));
  }
  void copy_features(std::int64_t example, std::span<float> out) const override {
    images_->copy_features(example / step_, out);
  }

 private:
  std::int64_t step_;
  std::optional<ByteImages> images_;
};

// Reads all names, but only some images: decoding all takes too long for a plan.
DataInfo inspect_image_folder(const nlohmann::json& options) {
  constexpr std::int64_t kDecoded = 128;
  const ImageList list = list_images(text(options, "root"));
  const DataShape shape = shape_of(options, list);
  expect_memory(shape, list);
  DataInfo info{
      shape, std::ssize(list.train.names), std::ssize(list.test.names), {text(options, "root")}};
  info.are_bytes = true;
  const std::int64_t most = kDecoded * shape.features();
  const std::int64_t step = survey_step(info.train_size, info.test_size, shape.features(), most);
  const DecodedSome train(list.train, shape, options, step);
  const DecodedSome test(list.test, shape, options, step);
  const std::string type = fmt::format("{}{}", kBytes, words_of_statistics(options));
  survey(info, {train, type, list.train.folder}, {test, type, list.test.folder}, most);
  return info;
}

Dataset load_image_folder(const nlohmann::json& options) {
  const std::string root = text(options, "root");
  ImageList list = list_images(root);
  Dataset data;
  data.shape = shape_of(options, list);
  expect_memory(data.shape, list);
  const int threads = threads_of(options);
  DecodedPart train = decode(list.train, data.shape, threads);
  DecodedPart test = decode(list.test, data.shape, threads);
  data.files.push_back({root, digest_of(list, train.digests, test.digests)});
  // Another version of a library may decode the same file to other pixels.
  Sha256 pixels;
  pixels.update(std::as_bytes(std::span(train.pixels)));
  pixels.update(std::as_bytes(std::span(test.pixels)));
  data.files.push_back({root + " (decoded pixels)", pixels.hex()});
  const std::vector<ChannelStatistics> statistics = statistics_of(options, data.shape.channels);
  data.train = std::make_shared<ByteImages>(data.shape, std::move(train.pixels),
                                            std::move(list.train.labels), statistics);
  data.test = std::make_shared<ByteImages>(data.shape, std::move(test.pixels),
                                           std::move(list.test.labels), statistics);
  return data;
}

}  // namespace

DatasetEntry dataset_image_folder() {
  return {"image-folder", "JPEG and PNG images of your own, a folder for each class",
          kImageFolderFields, inspect_image_folder, load_image_folder};
}

}  // namespace acid
