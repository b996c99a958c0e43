#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/data/dataset.hpp"

namespace acid {

/// A split that keeps the class of each example.
class LabelledSplit : public Split {
 public:
  std::int64_t size() const override { return std::ssize(labels_); }
  int label(std::int64_t example) const override {
    return labels_[static_cast<std::size_t>(example)];
  }

 protected:
  explicit LabelledSplit(std::vector<std::int32_t> labels) : labels_(std::move(labels)) {}
  std::vector<std::int32_t> labels_;
};

/// A split that is normalised when it is copied: (value/unit − mean)/deviation, by channel.
class NormalisedSplit : public LabelledSplit {
 public:
  float black(int channel) const override {
    return channels_[static_cast<std::size_t>(channel)].shift;
  }

 protected:
  NormalisedSplit(std::vector<std::int32_t> labels, std::span<const ChannelStatistics> statistics,
                  float unit);
  struct Affine {
    float scale, shift;  // normalised = value · scale + shift
  };
  std::vector<Affine> channels_;
};

/// Images kept as bytes.
class ByteImages final : public NormalisedSplit {
 public:
  /// `pixels` holds labels.size() × shape.features() bytes; one statistic per channel; labels are
  /// below shape.classes (asserted).
  ByteImages(const DataShape& shape, std::vector<std::uint8_t> pixels,
             std::vector<std::int32_t> labels, std::span<const ChannelStatistics> statistics);

  void copy_features(std::int64_t example, std::span<float> out) const override;
  /// The bytes as stored.
  std::span<const std::uint8_t> pixels(std::int64_t example) const;

 private:
  std::size_t channel_size_;
  std::vector<std::uint8_t> pixels_;
};

/// Flat examples kept as floats, copied unchanged.
class FloatRows final : public LabelledSplit {
 public:
  /// `features` holds labels.size() rows.
  FloatRows(std::vector<float> features, std::vector<std::int32_t> labels);

  void copy_features(std::int64_t example, std::span<float> out) const override;

 private:
  std::vector<float> features_;
  std::size_t width_;
};

/// The parts of a synthetic data set; each has streams of its own, so the test examples do not
/// change with the number of training examples.
enum class DataPart : std::uint32_t { train = 0, test = 1, task = 2 };
std::uint64_t data_key(std::uint64_t seed, DataPart part);

}  // namespace acid
