#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/data/glyph_shapes.hpp"
#include "engine/data/splits.hpp"

namespace acid {
namespace {

constexpr int kGlyphSide = 28, kDigits = 10;
constexpr std::size_t kGlyphPixels = kGlyphSide * kGlyphSide;
// Statistics of the training images with the default noise and seed.
constexpr ChannelStatistics kGlyphsStatistics{0.151f, 0.232f};

constexpr auto kGlyphsFields = std::to_array<Field>({
    {"train", FieldType::integer, "6000", "training images", 1, 1e7},
    {"test", FieldType::integer, "1000", "test images", 1, 1e7},
    {"noise", FieldType::number, "0.2",
     "standard deviation of the pixel noise; black to white is 1", 0, 10},
    {"seed", FieldType::integer, "0", "seed of the images; runs with any seed share them", 0},
});

Pose draw_pose(Stream& stream) {
  const auto between = [&](double low, double high) {
    return static_cast<float>(stream.uniform(low, high));
  };
  constexpr float kCentre = (kGlyphSide - 1) / 2.0f;
  Pose pose{};
  pose.centre_x = kCentre + between(-3, 3);
  pose.centre_y = kCentre + between(-3, 3);
  pose.half_height = between(7, 10);
  pose.aspect = between(0.75, 1.15);
  pose.rotation = between(-20, 20) * kDegree;
  pose.shear = between(-0.25, 0.25);
  pose.bend = between(0, 0.15);
  pose.phase = between(-180, 180) * kDegree;
  pose.half_stroke = between(0.6, 1.5);
  return pose;
}

// A nearly normal variable of mean 0 and variance 1 from the four bytes of one word: their sum has
// the Irwin–Hall distribution. One word per pixel instead of a Box–Muller keeps the data set cheap.
float rough_normal(std::uint32_t word) {
  const std::uint32_t sum = (word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24);
  constexpr float kMean = 510, kDeviation = 147.79716f;  // √(4 · (256² − 1)/12)
  return (static_cast<float>(sum) - kMean) / kDeviation;
}

void draw_glyph(int digit, float noise, Stream stream, std::span<std::uint8_t> pixels) {
  std::array<float, kGlyphPixels> ink{};
  const Pose pose = draw_pose(stream);
  const auto contrast = static_cast<float>(stream.uniform(0.6, 1));
  draw_strokes(digit_strokes(digit), pose, kGlyphSide, kGlyphSide, ink);
  for (std::size_t i = 0; i < kGlyphPixels; ++i) {
    const float value = contrast * ink[i] + noise * rough_normal(stream.next32());
    pixels[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255 + 0.5f);
  }
}

DataInfo inspect_glyphs(const nlohmann::json& options) {
  return {{1, kGlyphSide, kGlyphSide, kDigits},
          integer(options, "train"),
          integer(options, "test"),
          {}};
}

// The digits take turns, so classes are balanced; example e is drawn from sub-stream e.
std::shared_ptr<const Split> draw_glyphs_split(const nlohmann::json& options, DataPart part,
                                               std::int64_t size) {
  const auto count = static_cast<std::size_t>(size);
  const auto noise = static_cast<float>(number(options, "noise"));
  const std::uint64_t key = data_key(options.at("seed").get<std::uint64_t>(), part);
  std::vector<std::uint8_t> pixels(count * kGlyphPixels);
  std::vector<std::int32_t> labels(count);
  for (std::size_t e = 0; e < count; ++e) {
    labels[e] = static_cast<std::int32_t>(e % kDigits);
    draw_glyph(labels[e], noise, Stream(key, e),
               std::span(pixels).subspan(e * kGlyphPixels, kGlyphPixels));
  }
  return std::make_shared<ByteImages>(inspect_glyphs(options).shape, std::move(pixels),
                                      std::move(labels), std::span(&kGlyphsStatistics, 1));
}

Dataset load_glyphs(const nlohmann::json& options) {
  const DataInfo info = inspect_glyphs(options);
  return {info.shape,
          draw_glyphs_split(options, DataPart::train, info.train_size),
          draw_glyphs_split(options, DataPart::test, info.test_size),
          {}};
}

}  // namespace

/// Digits drawn as pen strokes at random places, sizes, angles and pen widths, with noise. Position
/// varies so much that linear models fail. Test accuracy after 3,000 batches of 32 with the default
/// options, measured: linear 67 %, one hidden layer of 128 96 %, two small convolutions 99 %.
DatasetEntry dataset_glyphs() {
  return {"glyphs",      "procedurally drawn digits: 28 × 28, random affine and noise, no files",
          kGlyphsFields, inspect_glyphs,
          load_glyphs,   {&kGlyphsStatistics, 1}};
}

}  // namespace acid
