#include "engine/data/glyph_shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.hpp"

namespace acid {
namespace {

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

std::array<std::vector<Polyline>, 10> make_digits() {
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

struct Canvas {
  int width, height;
  std::span<float> ink;
};

// Draws a segment. Ink falls from 1 to 0 over the pixel around half_stroke from the segment a–b;
// where strokes overlap, the darker one counts.
void draw_segment(Point a, Point b, float half_stroke, const Canvas& canvas) {
  const float reach = half_stroke + 0.5f;
  const auto clamp = [](float v, int end) {
    return static_cast<int>(std::clamp(v, 0.0f, static_cast<float>(end)));
  };
  const int left = clamp(std::floor(std::min(a.x, b.x) - reach), canvas.width);
  const int right = clamp(std::ceil(std::max(a.x, b.x) + reach) + 1, canvas.width);
  const int top = clamp(std::floor(std::min(a.y, b.y) - reach), canvas.height);
  const int bottom = clamp(std::ceil(std::max(a.y, b.y) + reach) + 1, canvas.height);
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float per_squared_length = 1 / std::max(dx * dx + dy * dy, 1e-12f);
  for (int row = top; row < bottom; ++row) {
    float* ink = canvas.ink.data() + row * canvas.width;
    for (int column = left; column < right; ++column) {
      const float x = static_cast<float>(column) - a.x, y = static_cast<float>(row) - a.y;
      const float along = std::clamp((x * dx + y * dy) * per_squared_length, 0.0f, 1.0f);
      const float off_x = x - along * dx, off_y = y - along * dy;
      const float distance = std::sqrt(off_x * off_x + off_y * off_y);
      ink[column] = std::max(ink[column], std::clamp(reach - distance, 0.0f, 1.0f));
    }
  }
}

}  // namespace

std::span<const Polyline> digit_strokes(int digit) {
  static const std::array<std::vector<Polyline>, 10> digits = make_digits();
  ACID_ASSERT(digit >= 0 && digit < 10, "digit {}", digit);
  return digits[static_cast<std::size_t>(digit)];
}

void draw_strokes(std::span<const Polyline> strokes, const Pose& pose, int width, int height,
                  std::span<float> canvas) {
  ACID_ASSERT(std::ssize(canvas) == width * height, "canvas of {} for {} × {}", canvas.size(),
              height, width);
  const Placement place(pose);
  for (const Polyline& stroke : strokes)
    for (std::size_t i = 1; i < stroke.size(); ++i)
      draw_segment(place(stroke[i - 1]), place(stroke[i]), pose.half_stroke,
                   {width, height, canvas});
}

}  // namespace acid
