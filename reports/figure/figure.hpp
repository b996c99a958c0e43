#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// How a shape or text of a drawing looks, as the page's style sheet says for light paper. Lengths
/// are in the units of the shape's own coordinates.
struct Look {
  std::string fill = "none", stroke = "none";  // "#rrggbb" or "none"
  double width = 1, opacity = 1, size = 10.5;
  std::string dash;  // lengths with blanks between; empty: solid
};

/// A shape or a text of a drawing with its place: x and y become scale · x + dx and scale · y + dy.
struct FigureItem {
  double scale = 1, dx = 0, dy = 0;
  std::string path;  // data as SVG has it; empty: a text
  std::string text, anchor;
  double x = 0, y = 0;
  Look look;
};

struct Figure {
  double width = 0, height = 0;  // units
  std::string title;
  std::vector<FigureItem> items;
};

/// The one drawing that a figure of a page contains, without styles and classes.
Figure figure_of(std::string_view html);

/// With the drawing's title above it, which on a page stands beside it.
Figure with_title(Figure figure);

/// Whole files, the font within, `millimetres` wide. Equal figures give equal bytes.
std::string figure_svg(const Figure& figure, double millimetres);
std::string figure_pdf(const Figure& figure, double millimetres);

}  // namespace acid
