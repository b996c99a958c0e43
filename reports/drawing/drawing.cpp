#include "reports/drawing/drawing.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace acid {
double tenths(double value) { return static_cast<double>(std::lround(value * 10)) / 10; }

DrawnShape& Shapes::add(ShapeKind kind, std::string_view role, double x, double y) {
  list_.push_back({.kind = kind, .role = std::string(role), .x = tenths(x), .y = tenths(y)});
  return list_.back();
}

DrawnShape& Shapes::path(std::string_view role, std::string data, int style) {
  DrawnShape& shape = add(ShapeKind::path, role, 0, 0);
  shape.words = std::move(data);
  shape.style = style;
  return shape;
}

DrawnShape& Shapes::text(double x, double y, std::string_view anchor, std::string_view words,
                         std::string_view role) {
  DrawnShape& shape = add(ShapeKind::text, role, x, y);
  shape.anchor = anchor;
  shape.words = words;
  return shape;
}

void Shapes::rect(std::string_view role, double x, double y, double width, double height) {
  DrawnShape& shape = add(ShapeKind::rect, role, x, y);
  shape.width = tenths(width);
  shape.height = tenths(height);
}

void Shapes::circle(std::string_view role, double x, double y, double radius) {
  add(ShapeKind::circle, role, x, y).width = radius;
}

DrawnShape& Shapes::marker(int style, double x, double y, double radius) {
  const std::string_view data = kMarkers[static_cast<std::size_t>(shape_of(style))];
  DrawnShape& shape = path("mark", std::string(data), style);
  shape.place = shifted(x, y).scaled(radius / 100, 3);
  return shape;
}

DrawnShape& Shapes::group(Shapes parts, int style) {
  DrawnShape& shape = add(ShapeKind::group, "", 0, 0);
  shape.style = style;
  shape.parts = std::move(parts);
  return shape;
}

void Shapes::add(Shapes others) {
  std::move(others.list_.begin(), others.list_.end(), std::back_inserter(list_));
}

DrawnShape& Shapes::back() { return list_.back(); }

ShapePlace shifted(double x, double y) { return {.shift = CurvePoint{tenths(x), tenths(y)}}; }

ShapePlace ShapePlace::scaled(double by, int with_digits) const {
  const double units = std::pow(10, with_digits);
  return {.shift = shift, .scale = std::round(by * units) / units, .digits = with_digits};
}

std::string svg_number(double value) {
  const long tenths = std::lround(value * 10);
  if (tenths % 10 == 0) return fmt::format("{}", tenths / 10);
  return fmt::format("{}{}.{}", tenths < 0 ? "-" : "", std::labs(tenths) / 10,
                     std::labs(tenths) % 10);
}

std::string path_data(std::span<const CurvePoint> points) {
  std::string data;
  long x = 0, y = 0;
  bool relative = false;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const long next_x = std::lround(points[k].x * 10), next_y = std::lround(points[k].y * 10);
    if (k == 0) {
      data = fmt::format("M{} {}", next_x, next_y);
    } else {
      const long dx = next_x - x, dy = next_y - y;
      if (dx == 0 && dy == 0 && k + 1 < points.size()) continue;
      data += fmt::format("{}{}{}{}",
                          !relative ? "l"
                          : dx < 0  ? ""
                                    : " ",
                          dx, dy < 0 ? "" : " ", dy);
      relative = true;
    }
    x = next_x;
    y = next_y;
  }
  return data;
}

}  // namespace acid
