#include "reports/drawing/drawing.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace acid {
namespace {

double rounded(double value, double units) { return std::round(value * units) / units; }

}  // namespace

double tenths(double value) { return static_cast<double>(std::lround(value * 10)) / 10; }

DrawnShape& Shapes::path(std::string_view role, std::string data, int style) {
  list_.push_back({.kind = DrawnShape::Kind::path,
                   .role = std::string(role),
                   .style = style,
                   .words = std::move(data)});
  return list_.back();
}

DrawnShape& Shapes::text(double x, double y, std::string_view anchor, std::string_view words,
                         std::string_view role) {
  list_.push_back({.kind = DrawnShape::Kind::text,
                   .role = std::string(role),
                   .words = std::string(words),
                   .anchor = std::string(anchor),
                   .x = tenths(x),
                   .y = tenths(y)});
  return list_.back();
}

DrawnShape& Shapes::rect(std::string_view role, double x, double y, double width, double height) {
  list_.push_back({.kind = DrawnShape::Kind::rect,
                   .role = std::string(role),
                   .x = tenths(x),
                   .y = tenths(y),
                   .width = tenths(width),
                   .height = tenths(height)});
  return list_.back();
}

DrawnShape& Shapes::circle(std::string_view role, double x, double y, double radius) {
  list_.push_back({.kind = DrawnShape::Kind::circle,
                   .role = std::string(role),
                   .x = tenths(x),
                   .y = tenths(y),
                   .width = radius});
  return list_.back();
}

DrawnShape& Shapes::marker(int style, double x, double y, double radius) {
  DrawnShape& shape =
      path("mark", std::string(kMarkers[static_cast<std::size_t>(shape_of(style))]), style);
  shape.place = shifted_and_scaled(x, y, radius / 100, 3);
  return shape;
}

DrawnShape& Shapes::group(Shapes parts, int style) {
  list_.push_back({.style = style, .parts = std::move(parts)});
  return list_.back();
}

void Shapes::add(Shapes others) {
  std::move(others.list_.begin(), others.list_.end(), std::back_inserter(list_));
}

DrawnShape& Shapes::back() { return list_.back(); }

ShapePlace shifted(double x, double y) { return {.shift = CurvePoint{tenths(x), tenths(y)}}; }

ShapePlace scaled(double scale, int digits) {
  return {.scale = rounded(scale, std::pow(10, digits)), .digits = digits};
}

ShapePlace shifted_and_scaled(double x, double y, double scale, int digits) {
  ShapePlace place = scaled(scale, digits);
  place.shift = shifted(x, y).shift;
  return place;
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
