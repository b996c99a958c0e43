#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace acid {

/// The font of figures: DejaVu Sans Condensed, of which reports/figure holds the Latin and Greek
/// letters and the signs that charts write (fontTools.subset, no hints and no layout tables).
struct FigureFont {
  struct Glyph {
    int id = 0, width = 0;  // the width in units of 1/1000 of the size
  };
  std::span<const std::byte> file;   // TrueType
  std::map<char32_t, Glyph> glyphs;  // by character
  Glyph missing;                     // for all others: the question mark
};
const FigureFont& figure_font();

/// Code points of UTF-8; malformed bytes become U+FFFD.
std::vector<char32_t> code_points(std::string_view text);

double text_width(std::string_view text, double size);

}  // namespace acid
