#include "reports/html/font.hpp"

#include <string>

#include "engine/base/error.hpp"
#include "engine/base/utf8.hpp"

namespace acid {

/// Made by CMake from the font's file.
std::span<const std::byte> figure_font_file();

namespace {

/// Big-endian numbers of our own file.
class FontTables {
 public:
  explicit FontTables(std::span<const std::byte> file) : file_(file) {}

  unsigned u16(std::size_t at) const {
    ACID_ASSERT(at + 2 <= file_.size(), "at {} of {}", at, file_.size());
    return std::to_integer<unsigned>(file_[at]) << 8 | std::to_integer<unsigned>(file_[at + 1]);
  }
  std::size_t u32(std::size_t at) const { return std::size_t{u16(at)} << 16 | u16(at + 2); }
  std::size_t table(std::string_view name) const {
    for (unsigned k = 0; k < u16(4); ++k) {
      const std::size_t entry = 12 + 16 * std::size_t{k};
      std::string tag;
      for (std::size_t c = 0; c < 4; ++c) tag += std::to_integer<char>(file_[entry + c]);
      if (tag == name) return u32(entry + 8);
    }
    ACID_ASSERT(false, "the font has no table {}", name);
    return 0;
  }

 private:
  std::span<const std::byte> file_;
};

FigureFont::Glyph glyph_of(const FontTables& tables, unsigned id) {
  const unsigned widths = tables.u16(tables.table("hhea") + 34);
  const unsigned per_em = tables.u16(tables.table("head") + 18);
  const unsigned row = std::min(id, widths - 1);
  const unsigned width = tables.u16(tables.table("hmtx") + 4 * std::size_t{row});
  return {static_cast<int>(id), static_cast<int>((width * 1000 + per_em / 2) / per_em)};
}

/// Segments of the character map in format 4.
FigureFont read_font() {
  FigureFont font;
  font.file = figure_font_file();
  const FontTables tables(font.file);
  const std::size_t cmap = tables.table("cmap"), map = cmap + tables.u32(cmap + 8);
  ACID_ASSERT(tables.u16(map) == 4, "a character map of format {}", tables.u16(map));
  const std::size_t segments = tables.u16(map + 6) / 2;
  const std::size_t ends = map + 14, starts = ends + 2 * segments + 2,
                    deltas = starts + 2 * segments, offsets = deltas + 2 * segments;
  for (std::size_t k = 0; k < segments; ++k) {
    const unsigned offset = tables.u16(offsets + 2 * k);
    for (unsigned c = tables.u16(starts + 2 * k); c <= tables.u16(ends + 2 * k) && c < 0xFFFF;
         ++c) {
      unsigned id = c;
      if (offset != 0)
        id = tables.u16(offsets + 2 * k + offset + 2 * (c - tables.u16(starts + 2 * k)));
      if (id != 0 || offset == 0) id = (id + tables.u16(deltas + 2 * k)) & 0xFFFFu;
      if (id != 0) font.glyphs[c] = glyph_of(tables, id);
    }
  }
  font.missing = font.glyphs.at(U'?');
  return font;
}

}  // namespace

const FigureFont& figure_font() {
  static const FigureFont font = read_font();
  return font;
}

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> result;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    result.push_back(c == kMalformed ? U'\uFFFD' : c);
  }
  return result;
}

double text_width(std::string_view text, double size) {
  const FigureFont& font = figure_font();
  int sum = 0;
  for (const char32_t c : code_points(text)) {
    const auto found = font.glyphs.find(c);
    sum += (found == font.glyphs.end() ? font.missing : found->second).width;
  }
  return sum * size / 1000;
}

}  // namespace acid
