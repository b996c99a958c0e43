#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/data/dataset.hpp"

namespace acid {

/// Images kept as bytes, normalised when copied: (byte/255 − mean)/deviation per channel.
class ByteImages final : public Split {
 public:
  /// `pixels` holds labels.size() × shape.features() bytes; one statistic per channel; labels are
  /// below shape.classes (asserted).
  ByteImages(const DataShape& shape, std::vector<std::uint8_t> pixels,
             std::vector<std::int32_t> labels, std::span<const ChannelStatistics> statistics);

  std::int64_t size() const override { return std::ssize(labels_); }
  int label(std::int64_t example) const override;
  void copy_features(std::int64_t example, std::span<float> out) const override;
  float black(int channel) const override {
    return channels_[static_cast<std::size_t>(channel)].shift;
  }
  /// The bytes as stored.
  std::span<const std::uint8_t> pixels(std::int64_t example) const;

 private:
  struct Affine {
    float scale, shift;
  };
  std::size_t channel_size_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::int32_t> labels_;
  std::vector<Affine> channels_;
};

/// Flat examples kept as floats, copied unchanged.
class FloatRows final : public Split {
 public:
  /// `features` holds labels.size() rows.
  FloatRows(std::vector<float> features, std::vector<std::int32_t> labels);

  std::int64_t size() const override { return std::ssize(labels_); }
  int label(std::int64_t example) const override;
  void copy_features(std::int64_t example, std::span<float> out) const override;

 private:
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
  std::size_t width_;
};

/// The parts of a synthetic data set; each has streams of its own, so the test examples do not
/// change with the number of training examples.
enum class DataPart : std::uint32_t { train = 0, test = 1, task = 2 };
std::uint64_t data_key(std::uint64_t seed, DataPart part);

}  // namespace acid
