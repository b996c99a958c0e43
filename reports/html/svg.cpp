#include "reports/html/svg.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reports/html/markup.hpp"

namespace acid {

std::string svg_number(double value) {
  const long tenths = std::lround(value * 10);
  if (tenths % 10 == 0) return fmt::format("{}", tenths / 10);
  return fmt::format("{}{}.{}", tenths < 0 ? "-" : "", std::labs(tenths) / 10,
                     std::labs(tenths) % 10);
}

std::string svg_open(std::string_view id, std::string_view css_class, double width, double height,
                     std::string_view title, std::string_view description) {
  return fmt::format(
      "<svg class=\"{1}\" viewBox=\"0 0 {2} {3}\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\">\n"
      "<title id=\"{0}-t\">{4}</title>\n<desc id=\"{0}-d\">{5}</desc>\n",
      id, css_class, svg_number(width), svg_number(height), escaped(title), escaped(description));
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

std::string svg_text(double x, double y, std::string_view anchor, std::string_view plain,
                     std::string_view css_class) {
  return fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", svg_number(x), svg_number(y),
      anchor, css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class), escaped(plain));
}

}  // namespace acid
