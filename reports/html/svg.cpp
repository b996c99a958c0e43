#include "reports/html/svg.hpp"

#include <fmt/format.h>

#include "reports/html/markup.hpp"

namespace acid {
namespace {

std::string class_of(const DrawnShape& shape) {
  std::string classes = shape.role;
  if (shape.style != kInheritedStyle)
    classes += fmt::format("{}s{}", classes.empty() ? "" : " ", shape.style);
  return classes.empty() ? "" : fmt::format(" class=\"{}\"", classes);
}

std::string transform_of(const ShapePlace& place) {
  std::string out;
  if (place.shift)
    out = fmt::format("translate({} {})", svg_number(place.shift->x), svg_number(place.shift->y));
  if (place.digits > 0) {
    const std::string scale = fmt::format("{:.{}f}", place.scale, place.digits);
    out +=
        fmt::format("{}scale({})", out.empty() ? "" : " ", out.empty() ? scale.substr(1) : scale);
  }
  return out.empty() ? "" : fmt::format(" transform=\"{}\"", out);
}

std::string group(const DrawnShape& shape) {
  const std::string parts = svg(shape.parts), place = transform_of(shape.place);
  if (shape.row)
    return fmt::format("<a href=\"#setting\"{} data-point=\"{}\"{}><title>{}</title>{}</a>",
                       class_of(shape), shape.row->point, place, escaped(shape.row->title), parts);
  const bool place_first = !shape.place.shift;
  return fmt::format("<g{}{}>{}{}</g>", place_first ? place : class_of(shape),
                     place_first ? class_of(shape) : place, shape.opens_line ? "\n" : "", parts);
}

std::string element(const DrawnShape& shape) {
  switch (shape.kind) {
    case ShapeKind::group:
      return group(shape);
    case ShapeKind::path:
      return fmt::format("<path{}{} d=\"{}\"/>", class_of(shape), transform_of(shape.place),
                         shape.words);
    case ShapeKind::rect:
      return fmt::format(
          "<rect{}{} width=\"{}\" height=\"{}\"/>", class_of(shape),
          shape.x == 0 && shape.y == 0
              ? ""
              : fmt::format(" x=\"{}\" y=\"{}\"", svg_number(shape.x), svg_number(shape.y)),
          svg_number(shape.width), svg_number(shape.height));
    case ShapeKind::circle:
      return fmt::format("<circle{} cx=\"{}\" cy=\"{}\" r=\"{}\"/>", class_of(shape),
                         svg_number(shape.x), svg_number(shape.y), svg_number(shape.width));
    case ShapeKind::text:
      return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n",
                         svg_number(shape.x), svg_number(shape.y), shape.anchor, class_of(shape),
                         escaped(shape.words));
  }
  return "";
}

}  // namespace

std::string svg(const Shapes& shapes) {
  std::string out;
  for (const DrawnShape& shape : shapes.list()) {
    out += element(shape);
    if (shape.ends_line) out += '\n';
  }
  return out;
}

std::string svg(const Drawing& drawing) {
  return fmt::format(
      "<svg class=\"{1}\" viewBox=\"0 0 {2} {3}\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\">\n"
      "<title id=\"{0}-t\">{4}</title>\n<desc id=\"{0}-d\">{5}</desc>\n{6}</svg>",
      drawing.id, drawing.css_class, svg_number(drawing.width), svg_number(drawing.height),
      escaped(drawing.title), escaped(drawing.description), svg(drawing.shapes));
}

}  // namespace acid
