#include "engine/data/labelled_arrays.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/base/digest.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/data/mapped_array.hpp"
#include "engine/data/splits.hpp"
#include "engine/data/survey.hpp"

namespace acid {
namespace {

constexpr std::int64_t kMostExamples = std::numeric_limits<std::int32_t>::max();

std::string shape_text(const MappedArray& array) {
  return fmt::format("({})", fmt::join(array.shape(), ", "));
}

/// A data set of four arrays: inputs are vectors (examples × features), grey images (examples ×
/// height × width) or images with channels; labels are integers from 0, one for each example.
struct LabelledArrays {
  std::vector<std::string> files;
  MappedArray train_inputs, train_labels, test_inputs, test_labels;
};

template <std::size_t Count>
constexpr std::array<Field, Count + kArrayFields.size()> with_array_fields(
    const std::array<Field, Count>& own) {
  std::array<Field, Count + kArrayFields.size()> all{};
  for (std::size_t k = 0; k < all.size(); ++k)
    all[k] = k < Count ? own[k] : kArrayFields[k - Count];
  return all;
}

DataShape shape_of(const MappedArray& inputs, bool channels_last) {
  const std::vector<std::int64_t>& shape = inputs.shape();
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > 4)
    inputs.fail(fmt::format("expected inputs of 2, 3 or 4 dimensions, found the shape {}",
                            shape_text(inputs)),
                "save examples × features, examples × height × width, or examples × channels × "
                "height × width");
  std::int64_t features = 1;
  for (std::size_t k = 1; k < rank; ++k) {
    features *= std::min(shape[k], kMostFeatures + 1);
    if (features < 1 || features > kMostFeatures)
      inputs.fail(fmt::format("expected 1 to {} features in an example, found the shape {}",
                              kMostFeatures, shape_text(inputs)),
                  "save examples as the first dimension");
  }
  if (shape[0] < 1 || shape[0] > kMostExamples)
    inputs.fail(fmt::format("expected 1 to {} examples, found {}", kMostExamples, shape[0]),
                "save examples as the first dimension");
  const auto extent = [&](std::size_t k) { return static_cast<int>(shape[k]); };
  if (rank == 2) return {1, 1, extent(1), 0};
  if (rank == 3) return {1, extent(1), extent(2), 0};
  if (channels_last) return {extent(3), extent(1), extent(2), 0};
  return {extent(1), extent(2), extent(3), 0};
}

std::vector<std::int32_t> labels_of(const MappedArray& labels, const MappedArray& inputs) {
  constexpr std::int64_t kLargest = 999'999;
  constexpr const char* kLabelsRemedy = "save whole numbers from 0, one for each example";
  const auto is_one = [](std::int64_t extent) { return extent == 1; };
  const bool is_row =
      std::ranges::count_if(labels.shape(), is_one) + 1 >= std::ssize(labels.shape());
  if (labels.shape().empty() || !is_row)
    labels.fail(
        fmt::format("expected labels of one dimension, found the shape {}", shape_text(labels)),
        "of one-hot rows, save labels.argmax(axis=1)");
  if (labels.size() != inputs.shape()[0])
    labels.fail(fmt::format("expected as many labels as {} has examples, {}, found {}",
                            inputs.name(), inputs.shape()[0], labels.size()),
                "save both from the same examples");
  return labels.visit([&]<class Number>(std::span<const Number> values) {
    std::vector<std::int32_t> out;
    for (const Number number : values) {
      using Value = std::conditional_t<is_real_v<Number>, double, Number>;
      const auto value = static_cast<Value>(number);
      if (is_real_v<Number> && !(std::trunc(static_cast<double>(value)) == value))
        labels.fail(fmt::format("expected labels that are whole numbers, found {} for example {}",
                                value, out.size()),
                    "save the number of each example's class; what is no class but a number to "
                    "come near to needs a model of your own, of kind 'python'");
      if (value < 0 || value > kLargest)
        labels.fail(fmt::format("expected labels from 0 to {}, found {} for example {}", kLargest,
                                value, out.size()),
                    kLabelsRemedy);
      out.push_back(static_cast<std::int32_t>(value));
    }
    return out;
  });
}

void expect_below(const MappedArray& array, const std::vector<std::int32_t>& labels, int classes) {
  for (std::size_t e = 0; e < labels.size(); ++e)
    if (labels[e] >= classes)
      array.fail(fmt::format("expected labels from 0 to {}, found {} for example {}", classes - 1,
                             labels[e], e),
                 "correct it, or set task.dataset.classes");
}

void expect_finite(const MappedArray& inputs) {
  inputs.visit([&]<class Number>(std::span<const Number> values) {
    if constexpr (is_real_v<Number>) {
      const auto found = std::ranges::find_if(
          values, [](Number value) { return !std::isfinite(static_cast<float>(value)); });
      if (found == values.end()) return;
      const std::int64_t width = inputs.size() / inputs.shape()[0];
      const auto number = static_cast<double>(*found);
      inputs.fail(fmt::format("expected {}, found {} in example {}",
                              std::isfinite(number) ? "numbers that single precision holds"
                                                    : "finite numbers",
                              number, (found - values.begin()) / width),
                  "remove or replace such inputs");
    }
  });
}

/// The divisor of the numbers, so that bytes become 0 to 1.
float unit_of(const MappedArray& inputs) {
  return inputs.type() == TensorType::u8 && !inputs.is_boolean() ? 255 : 1;
}

/// Inputs stay in the file and are converted when an example is copied. Numbers that are no bytes
/// may be far from 0 beside their deviation, so the mean is subtracted first.
class ArrayExamples final : public NormalisedSplit {
 public:
  ArrayExamples(MappedArray inputs, std::vector<std::int32_t> labels, const DataShape& shape,
                bool channels_last, const std::vector<ChannelStatistics>& statistics)
      : NormalisedSplit(std::move(labels), statistics, unit_of(inputs)),
        inputs_(std::move(inputs)),
        statistics_(statistics),
        pixels_(static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width)),
        channels_last_(channels_last && inputs_.shape().size() == 4) {}

  void copy_features(std::int64_t example, std::span<float> out) const override {
    const std::size_t channels = channels_.size(), width = channels * pixels_;
    const bool are_bytes = unit_of(inputs_) > 1;
    ACID_ASSERT(out.size() == width, "{} features into {}", width, out.size());
    inputs_.visit([&](auto values) {
      const auto* from = values.data() + static_cast<std::size_t>(example) * width;
      const std::size_t stride = channels_last_ ? channels : 1;
      for (std::size_t c = 0; c < channels; ++c) {
        const auto* value = from + (channels_last_ ? c : c * pixels_);
        float* to = out.data() + c * pixels_;
        const auto [scale, shift] = channels_[c];
        const auto [mean, deviation] = statistics_[c];
        for (std::size_t k = 0; k < pixels_; ++k, value += stride) {
          const auto x = static_cast<float>(*value);
          to[k] = are_bytes ? x * scale + shift : (x - mean) / deviation;
        }
      }
    });
  }

 private:
  MappedArray inputs_;
  std::vector<ChannelStatistics> statistics_;
  std::size_t pixels_;
  bool channels_last_;
};

struct Checked {
  DataShape shape;
  std::vector<std::int32_t> train, test;  // labels
};

/// "U8, divided by 255, then normalised".
std::string type_of(const nlohmann::json& options, const MappedArray& inputs) {
  const bool converted = inputs.visit([]<class Number>(std::span<const Number>) {
    return is_real_v<Number> && !std::is_same_v<Number, float>;
  });
  return fmt::format("{}{}{}{}", inputs.type_name(), converted ? ", converted to F32" : "",
                     unit_of(inputs) > 1 ? ", divided by 255" : "", words_of_statistics(options));
}

// Doubts the recipe's layout when the channels seem to be in another place.
void doubt_layout(DataInfo& info, const nlohmann::json& options, const MappedArray& inputs) {
  constexpr std::int64_t kMostChannels = 4;
  const std::vector<std::int64_t>& shape = inputs.shape();
  if (shape.size() != 4) return;
  const bool last = text(options, "layout") == "channels-last";
  const std::size_t read = last ? 3 : 1, other = last ? 1 : 3;
  if (shape[read] <= kMostChannels || shape[other] > kMostChannels) return;
  info.doubts.push_back(
      {fmt::format("{}: the shape {} is read as {} channels of {} × {}, and looks like {} × {} "
                   "with {} channels",
                   inputs.name(), shape_text(inputs), shape[read], shape[last ? 1 : 2],
                   shape[last ? 2 : 3], shape[last ? 2 : 1], shape[last ? 3 : 2], shape[other]),
       last ? "remove task.dataset.layout" : "set task.dataset.layout = \"channels-last\""});
}

Checked check(const nlohmann::json& options, const LabelledArrays& arrays) {
  const bool channels_last = text(options, "layout") == "channels-last";
  const MappedArray& test = arrays.test_inputs;
  Checked checked{shape_of(arrays.train_inputs, channels_last), {}, {}};
  shape_of(test, channels_last);
  const auto example = [](const MappedArray& inputs) {
    return std::span(inputs.shape()).subspan(1);
  };
  if (!std::ranges::equal(example(arrays.train_inputs), example(test)))
    test.fail(
        fmt::format("expected examples as in {}, of shape {}, found {}", arrays.train_inputs.name(),
                    shape_text(arrays.train_inputs), shape_text(test)),
        "save both alike");
  checked.train = labels_of(arrays.train_labels, arrays.train_inputs);
  checked.test = labels_of(arrays.test_labels, test);
  const nlohmann::json& classes = options.at("classes");
  checked.shape.classes =
      classes.is_null() ? std::max(2, std::ranges::max(checked.train) + 1) : classes.get<int>();
  expect_below(arrays.train_labels, checked.train, checked.shape.classes);
  expect_below(arrays.test_labels, checked.test, checked.shape.classes);
  statistics_of(options, checked.shape.channels);
  return checked;
}

// What does not fit is told with the file, the example and what to do.
Dataset load_arrays(const nlohmann::json& options, const LabelledArrays& arrays) {
  Checked checked = check(options, arrays);
  expect_finite(arrays.train_inputs);
  expect_finite(arrays.test_inputs);
  const bool channels_last = text(options, "layout") == "channels-last";
  const std::vector<ChannelStatistics> statistics = statistics_of(options, checked.shape.channels);
  Dataset data;
  data.shape = checked.shape;
  data.train = std::make_shared<ArrayExamples>(arrays.train_inputs, std::move(checked.train),
                                               data.shape, channels_last, statistics);
  data.test = std::make_shared<ArrayExamples>(arrays.test_inputs, std::move(checked.test),
                                              data.shape, channels_last, statistics);
  return data;
}

template <LabelledArrays (*arrays_of)(const nlohmann::json& options)>
Dataset load_files(const nlohmann::json& options) {
  const LabelledArrays arrays = arrays_of(options);
  Dataset data = load_arrays(options, arrays);
  for (const std::string& file : arrays.files) data.files.push_back({file, sha256_file(file)});
  return data;
}

template <LabelledArrays (*arrays_of)(const nlohmann::json& options)>
DataInfo inspect_files(const nlohmann::json& options) {
  const LabelledArrays arrays = arrays_of(options);
  const Dataset data = load_arrays(options, arrays);
  DataInfo info{data.shape, data.train->size(), data.test->size(), arrays.files};
  info.are_bytes = unit_of(arrays.train_inputs) > 1;
  doubt_layout(info, options, arrays.train_inputs);
  survey(info,
         {*data.train, type_of(options, arrays.train_inputs), arrays.train_inputs.name(),
          arrays.train_labels.name()},
         {*data.test, type_of(options, arrays.test_inputs), arrays.test_inputs.name(),
          arrays.test_labels.name()});
  return info;
}

// In the order of LabelledArrays.
constexpr std::array<std::string_view, 4> kNpyKeys{"train_inputs", "train_labels", "test_inputs",
                                                   "test_labels"};

constexpr auto kNpyFields = with_array_fields(std::to_array<Field>({
    {"root", FieldType::file, "null",
     "folder with train_inputs.npy, train_labels.npy, test_inputs.npy and test_labels.npy"},
    {kNpyKeys[0], FieldType::file, "null", "another file instead"},
    {kNpyKeys[1], FieldType::file, "null", "another file instead"},
    {kNpyKeys[2], FieldType::file, "null", "another file instead"},
    {kNpyKeys[3], FieldType::file, "null", "another file instead"},
}));

std::vector<std::string> npy_files(const nlohmann::json& options) {
  std::vector<std::string> files;
  std::string missing;
  for (const std::string_view key : kNpyKeys) {
    const nlohmann::json &own = options.at(std::string(key)), &root = options.at("root");
    const std::string name = fmt::format("{}.npy", key);
    if (own.is_string())
      files.push_back(own);
    else if (root.is_null())
      throw UsageError(
          fmt::format("nothing says where {} is: set task.dataset.root to the folder that has it, "
                      "or task.dataset.{} to the file",
                      name, key));
    else
      files.push_back((std::filesystem::path(root.get<std::string>()) / name).string());
    if (type_of_file(files.back()) == std::filesystem::file_type::not_found)
      missing += "\n  " + files.back();
  }
  if (!missing.empty())
    throw UsageError(
        fmt::format("these files are missing:{}\nsave them with numpy.save, or set "
                    "task.dataset.root to the folder that has them",
                    missing));
  return files;
}

LabelledArrays open_npy(const nlohmann::json& options) {
  const std::vector<std::string> files = npy_files(options);
  return {files, MappedArray::npy(files[0]), MappedArray::npy(files[1]), MappedArray::npy(files[2]),
          MappedArray::npy(files[3])};
}

constexpr auto kSafetensorsFields = with_array_fields(std::to_array<Field>({
    {"path", FieldType::file, "", "safetensors file with the tensors"},
    {"test_path", FieldType::file, "null", "file with the test tensors; default: the same file"},
    {"train_inputs", FieldType::text, "\"train_inputs\"", "name of a tensor: the training inputs"},
    {"train_labels", FieldType::text, "\"train_labels\"", "name of a tensor: the training labels"},
    {"test_inputs", FieldType::text, "\"test_inputs\"", "name of a tensor: the test inputs"},
    {"test_labels", FieldType::text, "\"test_labels\"", "name of a tensor: the test labels"},
}));

LabelledArrays open_safetensors(const nlohmann::json& options) {
  std::vector<std::string> files{text(options, "path")};
  if (options.at("test_path").is_string()) files.push_back(text(options, "test_path"));
  const auto find = [&](const std::string& file, const char* key) {
    return MappedArray::safetensors(file, text(options, key));
  };
  return {files, find(files.front(), "train_inputs"), find(files.front(), "train_labels"),
          find(files.back(), "test_inputs"), find(files.back(), "test_labels")};
}

}  // namespace

std::vector<ChannelStatistics> statistics_of(const nlohmann::json& options, int channels) {
  std::vector<ChannelStatistics> statistics(static_cast<std::size_t>(channels), {0, 1});
  const auto fill = [&](const char* key, float ChannelStatistics::*member) {
    if (options.at(key).is_null()) return;
    const auto given = options.at(key).get<std::vector<float>>();
    if (given.size() != statistics.size())
      throw UsageError(
          fmt::format("task.dataset.{} has {} numbers for examples with {} channels: "
                      "write one for each channel",
                      key, given.size(), channels));
    for (std::size_t c = 0; c < given.size(); ++c) statistics[c].*member = given[c];
  };
  fill("mean", &ChannelStatistics::mean);
  fill("deviation", &ChannelStatistics::deviation);
  for (const auto [mean, deviation] : statistics)
    if (!std::isfinite(mean) || !std::isfinite(1 / deviation) || !std::isfinite(mean / deviation))
      throw UsageError(
          fmt::format("task.dataset: mean {} and deviation {} cannot be computed with in single "
                      "precision: write numbers that are nearer to 1, and scale the inputs alike",
                      mean, deviation));
  return statistics;
}

const char* words_of_statistics(const nlohmann::json& options) {
  const bool given = !options.at("mean").is_null() || !options.at("deviation").is_null();
  return given ? ", then normalised" : "";
}

DatasetEntry dataset_npy() {
  return {"npy", "images or vectors of your own, arrays saved by NumPy", kNpyFields,
          inspect_files<open_npy>, load_files<open_npy>};
}

DatasetEntry dataset_safetensors() {
  return {"safetensors", "images or vectors of your own, tensors of one safetensors file or two",
          kSafetensorsFields, inspect_files<open_safetensors>, load_files<open_safetensors>};
}

}  // namespace acid
