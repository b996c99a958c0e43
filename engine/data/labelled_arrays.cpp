#include "engine/data/labelled_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace acid {
namespace {

constexpr std::int64_t kMostExamples = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostFeatures = 1 << 28;

std::string shape_text(const MappedArray& array) {
  return fmt::format("({})", fmt::join(array.shape(), ", "));
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
  const bool is_column = labels.shape().size() == 2 && labels.shape()[1] == 1;
  if (labels.shape().size() != 1 && !is_column)
    labels.fail(
        fmt::format("expected labels of one dimension, found the shape {}", shape_text(labels)),
        "of one-hot rows, save labels.argmax(axis=1)");
  if (labels.size() != inputs.shape()[0])
    labels.fail(fmt::format("expected as many labels as {} has examples, {}, found {}",
                            inputs.name(), inputs.shape()[0], labels.size()),
                "save both from the same examples");
  return labels.visit([&]<class Number>(std::span<const Number> values) {
    std::vector<std::int32_t> out;
    if constexpr (std::is_floating_point_v<Number>)
      labels.fail("expected labels that are integers, found floating point",
                  "save labels.astype(\"int64\")");
    for (const Number value : values) {
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
    if constexpr (std::is_floating_point_v<Number>) {
      const auto found = std::ranges::find_if(
          values, [](Number value) { return !std::isfinite(static_cast<float>(value)); });
      if (found == values.end()) return;
      const std::int64_t width = inputs.size() / inputs.shape()[0];
      inputs.fail(fmt::format("expected finite numbers, found {} in example {}", *found,
                              (found - values.begin()) / width),
                  "remove or replace such inputs");
    }
  });
}

/// What numbers are divided by, so that bytes are from 0 to 1.
float unit_of(const MappedArray& inputs) {
  return inputs.type() == TensorType::u8 && !inputs.is_boolean() ? 255 : 1;
}

/// Inputs stay in the file and are converted when they are copied.
class ArrayExamples final : public Split {
 public:
  ArrayExamples(MappedArray inputs, std::vector<std::int32_t> labels, const DataShape& shape,
                bool channels_last, const std::vector<ChannelStatistics>& statistics)
      : inputs_(std::move(inputs)),
        labels_(std::move(labels)),
        channels_(static_cast<std::size_t>(shape.channels)),
        pixels_(static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width)),
        channels_last_(channels_last && inputs_.shape().size() == 4) {
    const float unit = unit_of(inputs_);
    for (const auto [mean, deviation] : statistics)
      affine_.push_back({1 / (unit * deviation), -mean / deviation});
  }

  std::int64_t size() const override { return std::ssize(labels_); }
  int label(std::int64_t example) const override {
    return labels_[static_cast<std::size_t>(example)];
  }
  float black(int channel) const override {
    return affine_[static_cast<std::size_t>(channel)].shift;
  }
  void copy_features(std::int64_t example, std::span<float> out) const override {
    const std::size_t width = channels_ * pixels_;
    ACID_ASSERT(out.size() == width, "{} features into {}", width, out.size());
    inputs_.visit([&](auto values) {
      const auto* from = values.data() + static_cast<std::size_t>(example) * width;
      const std::size_t stride = channels_last_ ? channels_ : 1;
      for (std::size_t c = 0; c < channels_; ++c) {
        const auto* value = from + (channels_last_ ? c : c * pixels_);
        float* to = out.data() + c * pixels_;
        for (std::size_t k = 0; k < pixels_; ++k, value += stride)
          to[k] = static_cast<float>(*value) * affine_[c].scale + affine_[c].shift;
      }
    });
  }

 private:
  struct Affine {
    float scale, shift;
  };
  MappedArray inputs_;
  std::vector<std::int32_t> labels_;
  std::size_t channels_, pixels_;
  bool channels_last_;
  std::vector<Affine> affine_;  // by channel
};

struct Checked {
  DataShape shape;
  std::vector<std::int32_t> train, test;  // labels
};

/// Of every class, how many examples it has.
std::vector<std::int64_t> class_sizes(const std::vector<std::int32_t>& labels, int classes) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(classes));
  for (const std::int32_t label : labels) ++sizes[static_cast<std::size_t>(label)];
  return sizes;
}

/// "3", "3, 7 and 8", "3, 7, 8 and 5 more".
std::string some_of(const std::vector<int>& classes) {
  constexpr std::size_t kShown = 4;
  const std::size_t shown = classes.size() <= kShown + 1 ? classes.size() : kShown;
  std::string text;
  for (std::size_t k = 0; k < shown; ++k)
    text += fmt::format("{}{}", k == 0 ? "" : k + 1 == classes.size() ? " and " : ", ", classes[k]);
  if (shown < classes.size()) text += fmt::format(" and {} more", classes.size() - shown);
  return text;
}

/// "train: 1000 examples of 3 channels × 32 × 32 (U8, divided by 255), the first from 0 to 1, its
/// mean 0.43; 10 classes of 98 to 104 examples".
std::string words_of(const char* split, const MappedArray& inputs,
                     const std::vector<std::int32_t>& labels, const DataShape& shape) {
  const double unit = unit_of(inputs);
  const auto width = static_cast<std::size_t>(inputs.size() / inputs.shape()[0]);
  double least = INFINITY, most = -INFINITY, sum = 0;
  inputs.visit([&](auto values) {
    for (const auto value : values.first(width)) {
      const double number = static_cast<double>(value) / unit;
      least = std::min(least, number);
      most = std::max(most, number);
      sum += number;
    }
  });
  std::vector<std::int64_t> sizes = class_sizes(labels, shape.classes);
  std::erase(sizes, 0);
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  return fmt::format(
      "{}: {} examples of {} ({}{}), the first from {:.3g} to {:.3g} with mean {:.3g}; {} of {} "
      "classes, of {} to {} examples",
      split, labels.size(),
      shape.height == 1 ? fmt::format("{} features", shape.width)
                        : fmt::format("{} × {} × {} (channels × height × width)", shape.channels,
                                      shape.height, shape.width),
      inputs.is_boolean() ? "BOOL" : tensor_type_name(inputs.type()),
      unit > 1 ? ", divided by 255" : "", least, most, sum / static_cast<double>(width),
      sizes.size(), shape.classes, smallest, largest);
}

std::vector<DataInfo::Doubt> doubts_about(const Checked& checked, const LabelledArrays& arrays,
                                          bool channels_last) {
  constexpr std::int64_t kMostChannels = 4;
  std::vector<DataInfo::Doubt> doubts;
  const std::vector<std::int64_t>& shape = arrays.train_inputs.shape();
  if (!channels_last && shape.size() == 4 && shape[3] <= kMostChannels && shape[1] > kMostChannels)
    doubts.push_back(
        {fmt::format("{}: the shape {} is read as {} channels of {} × {}, and looks like "
                     "{} × {} with {} channels",
                     arrays.train_inputs.name(), shape_text(arrays.train_inputs), shape[1],
                     shape[2], shape[3], shape[1], shape[2], shape[3]),
         "set task.dataset.layout = \"channels-last\""});
  const std::vector<std::int64_t> sizes = class_sizes(checked.train, checked.shape.classes);
  std::vector<int> empty;
  for (int c = 0; c < checked.shape.classes; ++c)
    if (sizes[static_cast<std::size_t>(c)] == 0) empty.push_back(c);
  const auto held = checked.shape.classes - static_cast<int>(empty.size());
  if (held == 1)
    doubts.push_back({fmt::format("{}: all labels are {}, so that nothing can be learnt",
                                  arrays.train_labels.name(), checked.train.front()),
                      "save the labels of all classes"});
  else if (empty == std::vector{0})
    doubts.push_back({fmt::format("{}: labels begin with 1, so that class 0 of {} has no example",
                                  arrays.train_labels.name(), checked.shape.classes),
                      "save labels - 1"});
  else if (!empty.empty())
    doubts.push_back(
        {fmt::format("{}: of {} classes, {} {} no training example", arrays.train_labels.name(),
                     checked.shape.classes, some_of(empty), empty.size() == 1 ? "has" : "have"),
         "number the classes that there are from 0 on, or set task.dataset.classes"});
  return doubts;
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
  return statistics;
}

DataInfo inspect_arrays(const nlohmann::json& options, const LabelledArrays& arrays) {
  const Checked checked = check(options, arrays);
  return {checked.shape,
          std::ssize(checked.train),
          std::ssize(checked.test),
          {},
          doubts_about(checked, arrays, text(options, "layout") == "channels-last"),
          {words_of("train", arrays.train_inputs, checked.train, checked.shape),
           words_of("test", arrays.test_inputs, checked.test, checked.shape)}};
}

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

}  // namespace acid
