#include "engine/data/splits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"

namespace acid {
namespace {

/// Some examples of a split.
class SomeExamples final : public Split {
 public:
  SomeExamples(std::shared_ptr<const Split> all, std::vector<std::int32_t> examples)
      : all_(std::move(all)), examples_(std::move(examples)) {}

  std::int64_t size() const override { return std::ssize(examples_); }
  int label(std::int64_t example) const override { return all_->label(number_of(example)); }
  void copy_features(std::int64_t example, std::span<float> out) const override {
    all_->copy_features(number_of(example), out);
  }
  void copy_labels(std::int64_t example, std::span<std::int64_t> out) const override {
    all_->copy_labels(number_of(example), out);
  }
  float black(int channel) const override { return all_->black(channel); }

 private:
  std::int64_t number_of(std::int64_t example) const {
    return examples_[static_cast<std::size_t>(example)];
  }

  std::shared_ptr<const Split> all_;
  std::vector<std::int32_t> examples_;
};

/// A split with other labels.
class Relabelled final : public LabelledSplit {
 public:
  Relabelled(std::shared_ptr<const Split> all, std::vector<std::int32_t> labels)
      : LabelledSplit(std::move(labels)), all_(std::move(all)) {}

  void copy_features(std::int64_t example, std::span<float> out) const override {
    all_->copy_features(example, out);
  }
  float black(int channel) const override { return all_->black(channel); }

 private:
  std::shared_ptr<const Split> all_;
};

/// A split with noise on its features.
class ShiftedFeatures final : public Split {
 public:
  ShiftedFeatures(std::shared_ptr<const Split> all, std::vector<float> deviations,
                  std::uint64_t key)
      : all_(std::move(all)), deviations_(std::move(deviations)), key_(key) {}

  std::int64_t size() const override { return all_->size(); }
  int label(std::int64_t example) const override { return all_->label(example); }
  void copy_features(std::int64_t example, std::span<float> out) const override {
    all_->copy_features(example, out);
    Stream stream(key_, static_cast<std::uint64_t>(example));
    const float deviation = deviations_[static_cast<std::size_t>(example)];
    std::array<double, 256> noise;
    while (!out.empty()) {
      const std::size_t some = std::min(out.size(), noise.size());
      stream.normals(std::span(noise).first(some));
      for (std::size_t k = 0; k < some; ++k) out[k] += deviation * static_cast<float>(noise[k]);
      out = out.subspan(some);
    }
  }
  float black(int channel) const override { return all_->black(channel); }

 private:
  std::shared_ptr<const Split> all_;
  std::vector<float> deviations_;  // by example
  std::uint64_t key_;
};

}  // namespace

Dataset with_label_noise(Dataset dataset, double share, std::uint64_t key) {
  std::vector<std::int32_t> labels;
  const auto others = static_cast<std::uint64_t>(dataset.shape.classes - 1);
  for (std::int64_t e = 0; e < dataset.train->size(); ++e) {
    Stream stream(key, static_cast<std::uint64_t>(e));
    labels.push_back(dataset.train->label(e));
    if (stream.uniform() >= share) continue;
    const auto other = static_cast<std::int32_t>(stream.below(others));
    labels.back() = other + (other >= labels.back() ? 1 : 0);
  }
  dataset.train = std::make_shared<Relabelled>(dataset.train, std::move(labels));
  return dataset;
}

std::shared_ptr<const Split> with_feature_shift(std::shared_ptr<const Split> train,
                                                const Shards& shards, double level,
                                                std::uint64_t key) {
  std::vector<float> deviations(static_cast<std::size_t>(train->size()));
  std::int64_t shared_out = 0;
  for (std::size_t worker = 0; worker < shards.lists.size(); ++worker) {
    const double part = static_cast<double>(worker + 1) / static_cast<double>(shards.lists.size());
    for (const std::int32_t example : shards.lists[worker])
      deviations[static_cast<std::size_t>(example)] = static_cast<float>(std::sqrt(level * part));
    shared_out += std::ssize(shards.lists[worker]);
  }
  ACID_ASSERT(level >= 0 && shared_out == train->size(), "level {}, {} of {} examples", level,
              shared_out, train->size());
  return std::make_shared<ShiftedFeatures>(std::move(train), std::move(deviations), key);
}

std::uint64_t validation_key(const nlohmann::json& dataset) {
  return derive_seed(dataset.value("seed", std::uint64_t{0}), 0, Purpose::validation);
}

HeldOut hold_out(std::int64_t train_size, std::int64_t count, std::uint64_t key) {
  ACID_ASSERT(count >= 0 && count < train_size, "{} of {} examples for validation", count,
              train_size);
  std::vector<bool> held(static_cast<std::size_t>(train_size));
  const Permutation order(key, static_cast<std::uint64_t>(train_size));
  for (std::int64_t k = 0; k < count; ++k) held[order.at(static_cast<std::uint64_t>(k))] = true;
  HeldOut out;
  for (std::int64_t e = 0; e < train_size; ++e)
    (held[static_cast<std::size_t>(e)] ? out.validation : out.train)
        .push_back(static_cast<std::int32_t>(e));
  return out;
}

Dataset hold_out(Dataset dataset, std::int64_t count, std::uint64_t key) {
  HeldOut parts = hold_out(dataset.train->size(), count, key);
  dataset.validation = std::make_shared<SomeExamples>(dataset.train, std::move(parts.validation));
  dataset.train = std::make_shared<SomeExamples>(dataset.train, std::move(parts.train));
  return dataset;
}

NormalisedSplit::NormalisedSplit(std::vector<std::int32_t> labels,
                                 std::span<const ChannelStatistics> statistics, float unit)
    : LabelledSplit(std::move(labels)) {
  for (const auto [mean, deviation] : statistics)
    channels_.push_back({1 / (unit * deviation), -mean / deviation});
}

ByteImages::ByteImages(const DataShape& shape, std::vector<std::uint8_t> pixels,
                       std::vector<std::int32_t> labels,
                       std::span<const ChannelStatistics> statistics)
    : NormalisedSplit(std::move(labels), statistics, 255),
      channel_size_(static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width)),
      pixels_(std::move(pixels)) {
  ACID_ASSERT(std::ssize(pixels_) == std::ssize(labels_) * shape.features(),
              "{} bytes for {} of {}", pixels_.size(), labels_.size(), shape.features());
  ACID_ASSERT(std::ssize(statistics) == shape.channels, "{} statistics for {} channels",
              statistics.size(), shape.channels);
  for (const std::int32_t label : labels_)
    ACID_ASSERT(label >= 0 && label < shape.classes, "label {} of {} classes", label,
                shape.classes);
}

std::span<const std::uint8_t> ByteImages::pixels(std::int64_t example) const {
  const std::size_t size = channels_.size() * channel_size_;
  return std::span(pixels_).subspan(static_cast<std::size_t>(example) * size, size);
}

void ByteImages::copy_features(std::int64_t example, std::span<float> out) const {
  const std::span<const std::uint8_t> bytes = pixels(example);
  ACID_ASSERT(out.size() == bytes.size(), "{} features into {}", bytes.size(), out.size());
  const std::uint8_t* from = bytes.data();
  float* to = out.data();
  for (const auto [scale, shift] : channels_)
    for (std::size_t i = 0; i < channel_size_; ++i)
      *to++ = static_cast<float>(*from++) * scale + shift;
}

FloatRows::FloatRows(std::vector<float> features, std::vector<std::int32_t> labels)
    : LabelledSplit(std::move(labels)),
      features_(std::move(features)),
      width_(labels_.empty() ? 0 : features_.size() / labels_.size()) {
  ACID_ASSERT(features_.size() == width_ * labels_.size(), "{} features for {} labels",
              features_.size(), labels_.size());
}

void FloatRows::copy_features(std::int64_t example, std::span<float> out) const {
  ACID_ASSERT(out.size() == width_, "{} features into {}", width_, out.size());
  std::copy_n(features_.begin() + example * static_cast<std::ptrdiff_t>(width_), width_,
              out.begin());
}

std::uint64_t data_key(std::uint64_t seed, DataPart part) {
  return derive_seed(seed, static_cast<std::uint32_t>(part), Purpose::data_set);
}

}  // namespace acid
