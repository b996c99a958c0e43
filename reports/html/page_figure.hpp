#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/drawing/drawing.hpp"

namespace acid {

/// A figure of the page: a drawing with its surroundings, or words in its place.
struct PageFigure {
  std::string css_class = "chart";  // in the style sheet
  std::string attributes = {};      // more of them, HTML
  std::string caption = {};         // HTML; empty: there is no such figure
  std::optional<Drawing> drawing = {};
  bool scrolls = false;                 // the drawing is in a box of its own
  std::string below = {};               // HTML
  std::vector<std::string> notes = {};  // plain text: what a picture alone does not say of itself
  std::string csv = {};  // the figure's data, which a page saves beside its drawing (RFC 4180)

  bool empty() const { return caption.empty(); }
  std::string html() const;
};

}  // namespace acid
