#pragma once

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/curves.hpp"
#include "reports/drawing/looks.hpp"

namespace acid {

struct DrawnShape;
enum class ShapeKind { group, path, rect, circle, text };

/// The shapes of a chart, in the order of drawing. Coordinates are rounded to tenths of a unit:
/// finer ones would be invisible and cost bytes in thousands of points. A reference to a shape is
/// valid until the next shape is added.
class Shapes {
 public:
  /// `data`: as in SVG, of the commands M, L, H, V, a half circle A to the side, and Z.
  DrawnShape& path(std::string_view role, std::string data, int style = kInheritedStyle);
  /// `anchor`: "start", "middle" or "end", the part of the text at x.
  DrawnShape& text(double x, double y, std::string_view anchor, std::string_view words,
                   std::string_view role = {});
  void rect(std::string_view role, double x, double y, double width, double height);
  void circle(std::string_view role, double x, double y, double radius);
  /// A marker in a style's shape around a place.
  DrawnShape& marker(int style, double x, double y, double radius);
  DrawnShape& group(Shapes parts, int style = kInheritedStyle);
  void add(Shapes others);

  DrawnShape& back();
  const std::vector<DrawnShape>& list() const { return list_; }

 private:
  DrawnShape& add(ShapeKind kind, std::string_view role, double x, double y);
  std::vector<DrawnShape> list_;
};

/// The place of a shape in its group: x becomes scale · x + shift.x.
struct ShapePlace {
  std::optional<CurvePoint> shift = {};
  double scale = 1;
  int digits = 0;  // decimal places of the scale; 0: it is 1
  ShapePlace scaled(double by, int with_digits) const;
};
ShapePlace shifted(double x, double y);

struct DrawnShape {
  ShapeKind kind = ShapeKind::group;
  std::string role = {};        // how it looks (looks.hpp); empty: not specified
  int style = kInheritedStyle;  // of the shape's algorithm
  ShapePlace place = {};
  std::string words = {};  // plain text; a path's data
  std::string anchor = {};
  double x = 0, y = 0, width = 0, height = 0;  // a circle's centre, and its radius as width
  Shapes parts = {};
  /// On a page a group can be a row with a title, which leads to a setting's details.
  struct Row {
    std::size_t point;
    std::string title;
  };
  std::optional<Row> row = {};
  bool opens_line = false, ends_line = false;  // of the page's source, after the tag or the shape
};

/// A chart without its surroundings on a page. The title and the description are plain text.
struct Drawing {
  std::string id;         // unique in a page
  std::string css_class;  // of the page's style sheet
  double width = 0, height = 0;
  std::string title, description;
  Shapes shapes = {};
  std::string legend = {};  // plain text: what its marks are; a page says so beside it
};

/// Rounded to tenths; svg_number(): that as text.
double tenths(double value);
std::string svg_number(double value);

/// Path data of SVG, with a number rounded to tenths for each {}.
template <class... Numbers>
std::string path_of(std::string_view commands, Numbers... numbers) {
  return fmt::format(fmt::runtime(commands), svg_number(numbers)...);
}

/// Path data in tenths of a unit (drawn inside scale(.1)), relative to the last point: short
/// integers. Points are in units.
std::string path_data(std::span<const CurvePoint> points);

}  // namespace acid
