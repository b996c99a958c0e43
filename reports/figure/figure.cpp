#include "reports/figure/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/base/names.hpp"
#include "reports/html/font.hpp"
#include "reports/html/markup.hpp"
#include "reports/text_table.hpp"

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

/// Lines as wide as the figure at most; a longer word has one of its own, and is shortened.
std::vector<std::string> lines_within(std::string_view words, double size, double width) {
  std::vector<std::string> lines;
  for (const std::string_view word : split_at(words, ' ')) {
    if (word.empty()) continue;
    if (!lines.empty() && text_width(fmt::format("{} {}", lines.back(), word), size) <= width) {
      lines.back() += fmt::format(" {}", word);
      continue;
    }
    int columns = terminal_columns(word);
    lines.push_back(shortened(word, columns));
    while (columns > 1 && text_width(lines.back(), size) > width)
      lines.back() = shortened(word, --columns);
  }
  return lines;
}

}  // namespace

Figure figure_of(const Drawing& drawing) {
  Figure figure{tenths(drawing.width), tenths(drawing.height), well_formed(drawing.title), {}};
  figure.legend = well_formed(drawing.legend);
  add_shapes(figure, drawing.shapes, {});
  return figure;
}

Figure with_title(Figure figure) {
  constexpr double kRoom = 17, kLine = 10, kBetween = 13;
  std::vector<FigureItem> above;
  const auto add = [&](const char* role, const std::string& words) {
    FigureItem& item = above.emplace_back();
    item.look = look_of(role, 0, true);
    item.text = words;
    item.anchor = "start";
    item.y = kLine + kBetween * static_cast<double>(above.size() - 1);
  };
  for (const auto& [role, words] :
       {std::pair{"heading", figure.title}, std::pair{"name", figure.legend}})
    for (const std::string& line : lines_within(words, look_of(role, 0, true).size, figure.width))
      add(role, line);
  if (above.empty()) return figure;
  const double room = kRoom + above.back().y - kLine;
  for (FigureItem& item : figure.items) item.dy += room;
  figure.height += room;
  std::ranges::move(above, std::back_inserter(figure.items));
  return figure;
}

}  // namespace acid
