#pragma once

#include <numbers>
#include <span>
#include <vector>

namespace acid {

inline constexpr float kDegree = std::numbers::pi_v<float> / 180;  // one degree, in radians

struct Point {
  float x, y;
};

/// A pen stroke: straight lines between successive points.
using Polyline = std::vector<Point>;

/// The strokes of digit 0 … 9, in a box of half-width about 0.6 and half-height 1 around the
/// origin, y pointing down. Built once; any thread.
std::span<const Polyline> digit_strokes(int digit);

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

/// Draws the strokes onto a row-major canvas of width * height floats that hold 0: ink in 0 to 1,
/// with edges one pixel soft. Parts outside the canvas are cut off. Cost: O(ink's bounding boxes).
void draw_strokes(std::span<const Polyline> strokes, const Pose& pose, int width, int height,
                  std::span<float> canvas);

}  // namespace acid
