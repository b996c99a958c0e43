#include "reports/figure/figure.hpp"

#include <fmt/format.h>

#include "reports/html/markup.hpp"

namespace acid {
namespace {

std::string outline(const DrawnShape& shape) {
  const double r = shape.width;
  switch (shape.kind) {
    case ShapeKind::path:
      return shape.words;
    case ShapeKind::rect:
      return fmt::format("M{} {}h{}v{}h-{}z", shape.x, shape.y, shape.width, shape.height,
                         shape.width);
    case ShapeKind::circle:
      return fmt::format("M{} {}a{} {} 0 1 0 {} 0a{} {} 0 1 0 {} 0z", shape.x - r, shape.y, r, r,
                         2 * r, r, r, -2 * r);
    case ShapeKind::group:
    case ShapeKind::text:
      break;
  }
  return {};
}

/// What shapes inherit from their groups.
struct Level {
  double scale = 1, dx = 0, dy = 0;
  int style = 0;

  Level within(const DrawnShape& shape) const {
    Level inner = *this;
    if (shape.place.shift) {
      inner.dx += scale * shape.place.shift->x;
      inner.dy += scale * shape.place.shift->y;
    }
    inner.scale *= shape.place.scale;
    if (shape.style != kInheritedStyle) inner.style = shape.style;
    return inner;
  }
};

void add_shapes(Figure& figure, const Shapes& shapes, const Level& outer) {
  for (const DrawnShape& shape : shapes.list()) {
    const Level level = outer.within(shape);
    const bool is_text = shape.kind == ShapeKind::text;
    const Look look = look_of(shape.role, level.style, is_text);
    FigureItem item{level.scale, level.dx, level.dy, outline(shape), {}, {}, 0, 0, look};
    if (is_text) {
      item.text = well_formed(shape.words);
      item.anchor = shape.anchor;
      item.x = shape.x;
      item.y = shape.y;
    }
    if (is_text || !item.path.empty()) figure.items.push_back(std::move(item));
    add_shapes(figure, shape.parts, level);
  }
}

}  // namespace

Figure figure_of(const Drawing& drawing) {
  Figure figure{tenths(drawing.width), tenths(drawing.height), well_formed(drawing.title), {}};
  add_shapes(figure, drawing.shapes, {});
  return figure;
}

Figure with_title(Figure figure) {
  constexpr double kRoom = 17, kLine = 10;
  for (FigureItem& item : figure.items) item.dy += kRoom;
  figure.height += kRoom;
  FigureItem title;
  title.look = look_of("heading", 0, true);
  title.text = figure.title;
  title.anchor = "start";
  title.y = kLine;
  figure.items.push_back(std::move(title));
  return figure;
}

}  // namespace acid
