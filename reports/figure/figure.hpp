#pragma once

#include <string>
#include <vector>

#include "reports/drawing/drawing.hpp"

namespace acid {

/// A shape or a text of a drawing with its place: x and y become scale · x + dx and scale · y + dy.
struct FigureItem {
  double scale = 1, dx = 0, dy = 0;
  std::string path;  // data as in SVG; empty: a text
  std::string text, anchor;
  double x = 0, y = 0;
  Look look;
};

struct Figure {
  double width = 0, height = 0;  // units
  std::string title;
  std::vector<FigureItem> items;
  std::string legend = {};
};

/// A drawing for light paper: a flat list, with shapes in groups becoming single shapes.
Figure figure_of(const Drawing& drawing);

/// Adds the drawing's title and legend above it; on a page they are beside it.
Figure with_title(Figure figure);

/// Whole files with the font inside, `millimetres` wide. Equal figures give equal bytes.
std::string figure_svg(const Figure& figure, double millimetres);
std::string figure_pdf(const Figure& figure, double millimetres);
/// The characters of its texts that the PDF's font does not have, each once, with blanks between.
/// In their place are question marks.
std::string characters_without_form(const Figure& figure);

}  // namespace acid
