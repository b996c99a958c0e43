#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <vector>

#include "engine/data/splits.hpp"

namespace acid {
namespace {

constexpr float kDegree = std::numbers::pi_v<float> / 180;  // one degree, in radians
constexpr int kGlyphSide = 28, kDigits = 10;
constexpr std::size_t kGlyphPixels = kGlyphSide * kGlyphSide;

struct Point {
  float x, y;
};

/// A pen stroke: straight lines between successive points.
using Polyline = std::vector<Point>;

/// The pose of one example, relative to the ideal digit. Lengths in pixels, angles in radians.
struct Pose {
  float centre_x, centre_y;
  float half_height;  // of the digit, before shearing and turning
  float aspect;       // stretches the width
  float rotation;
  float shear;        // horizontal shift per unit of height
  float bend, phase;  // x += bend · sin(2y + phase), in units of the half-height
  float half_stroke;  // half the width of the pen
};

// A part of an ellipse, in degrees: 0 is right, 90 is down.
Polyline arc(Point centre, float radius_x, float radius_y, float from, float to) {
  constexpr float kStepDegrees = 20;
  const int steps = static_cast<int>(std::ceil(std::abs(to - from) / kStepDegrees));
  Polyline points;
  for (int i = 0; i <= steps; ++i) {
    const float angle =
        (from + (to - from) * static_cast<float>(i) / static_cast<float>(steps)) * kDegree;
    points.push_back(
        {centre.x + radius_x * std::cos(angle), centre.y + radius_y * std::sin(angle)});
  }
  return points;
}

Polyline joined(Polyline first, const Polyline& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<Polyline> turned_half_way(std::vector<Polyline> strokes) {
  for (Polyline& stroke : strokes)
    for (Point& point : stroke) point = {-point.x, -point.y};
  return strokes;
}

// The strokes of digit 0 … 9, in a box of half-width about 0.6 and half-height 1 around the origin,
// y pointing down.
std::array<std::vector<Polyline>, kDigits> make_digits() {
  const std::vector<Polyline> six{
      joined(arc({0.5f, 0.4f}, 1.05f, 1.4f, 265, 180), arc({0, 0.4f}, 0.55f, 0.6f, 180, -180))};
  return {{
      {arc({0, 0}, 0.6f, 1, 0, 360)},
      {{{-0.35f, -0.6f}, {0.05f, -1}, {0.05f, 1}}},
      {joined(arc({0, -0.45f}, 0.55f, 0.55f, 190, 390), {{-0.6f, 1}, {0.6f, 1}})},
      {joined(arc({0, -0.5f}, 0.5f, 0.5f, 200, 450), arc({0, 0.5f}, 0.6f, 0.5f, 270, 520))},
      {{{0.25f, 1}, {0.25f, -1}, {-0.6f, 0.4f}, {0.65f, 0.4f}}},
      {joined({{0.5f, -1}, {-0.4f, -1}, {-0.5f, -0.05f}}, arc({0, 0.35f}, 0.6f, 0.65f, 220, 510))},
      six,
      {{{-0.55f, -1}, {0.6f, -1}, {-0.1f, 1}}},
      {arc({0, -0.5f}, 0.45f, 0.5f, 90, 450), arc({0, 0.5f}, 0.55f, 0.5f, -90, 270)},
      turned_half_way(six),
  }};
}

// Maps digit coordinates to pixels.
class Placement {
 public:
  explicit Placement(const Pose& pose)
      : pose_(pose), cosine_(std::cos(pose.rotation)), sine_(std::sin(pose.rotation)) {}

  Point operator()(Point p) const {
    const float bent = p.x + pose_.bend * std::sin(2 * p.y + pose_.phase);
    const float x = (pose_.aspect * bent + pose_.shear * p.y) * pose_.half_height;
    const float y = p.y * pose_.half_height;
    return {pose_.centre_x + cosine_ * x - sine_ * y, pose_.centre_y + sine_ * x + cosine_ * y};
  }

 private:
  const Pose& pose_;
  float cosine_, sine_;
};

using Canvas = std::array<float, kGlyphPixels>;  // ink in 0 to 1, row by row

// Draws a segment. Ink falls from 1 to 0 over the pixel around half_stroke from the segment a–b;
// where strokes overlap, the darker one counts. Parts outside the canvas are cut off.
void draw_segment(Point a, Point b, float half_stroke, Canvas& canvas) {
  const float reach = half_stroke + 0.5f;
  const auto clamp = [](float v) {
    return static_cast<int>(std::clamp(v, 0.0f, static_cast<float>(kGlyphSide)));
  };
  const int left = clamp(std::floor(std::min(a.x, b.x) - reach));
  const int right = clamp(std::ceil(std::max(a.x, b.x) + reach) + 1);
  const int top = clamp(std::floor(std::min(a.y, b.y) - reach));
  const int bottom = clamp(std::ceil(std::max(a.y, b.y) + reach) + 1);
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float per_squared_length = 1 / std::max(dx * dx + dy * dy, 1e-12f);
  for (int row = top; row < bottom; ++row) {
    float* ink = canvas.data() + row * kGlyphSide;
    for (int column = left; column < right; ++column) {
      const float x = static_cast<float>(column) - a.x, y = static_cast<float>(row) - a.y;
      const float along = std::clamp((x * dx + y * dy) * per_squared_length, 0.0f, 1.0f);
      const float off_x = x - along * dx, off_y = y - along * dy;
      const float distance = std::sqrt(off_x * off_x + off_y * off_y);
      ink[column] = std::max(ink[column], std::clamp(reach - distance, 0.0f, 1.0f));
    }
  }
}

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

void draw_glyph(std::size_t digit, float noise, Stream stream, std::span<std::uint8_t> pixels) {
  static const auto digits = make_digits();
  Canvas ink{};
  const Pose pose = draw_pose(stream);
  const auto contrast = static_cast<float>(stream.uniform(0.6, 1));
  const Placement place(pose);
  for (const Polyline& stroke : digits[digit])
    for (std::size_t i = 1; i < stroke.size(); ++i)
      draw_segment(place(stroke[i - 1]), place(stroke[i]), pose.half_stroke, ink);
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
    draw_glyph(e % kDigits, noise, Stream(key, e),
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
