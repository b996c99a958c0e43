#pragma once

#include <string>
#include <vector>

#include "reports/drawing/drawing.hpp"

namespace acid {

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

/// A drawing for light paper: shapes in groups become shapes beside each other, of one kind.
Figure figure_of(const Drawing& drawing);

/// With the drawing's title above it, which on a page stands beside it.
Figure with_title(Figure figure);

/// Whole files, the font within, `millimetres` wide. Equal figures give equal bytes.
std::string figure_svg(const Figure& figure, double millimetres);
std::string figure_pdf(const Figure& figure, double millimetres);

}  // namespace acid
