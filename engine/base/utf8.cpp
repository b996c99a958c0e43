#include "engine/base/utf8.hpp"

#include <array>

namespace acid {

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at++);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4) return kMalformed;
  char32_t character = lead & (0x3F >> more);
  std::size_t end = at;
  for (int i = 0; i < more; ++i, ++end) {
    if (end >= text.size() || (byte(end) & 0xC0) != 0x80) return kMalformed;
    character = (character << 6) | (byte(end) & 0x3F);
  }
  constexpr std::array<char32_t, 4> kSmallest = {0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
  if (character < kSmallest[static_cast<std::size_t>(more)] || character > 0x10FFFF || surrogate)
    return kMalformed;
  at = end;
  return character;
}

namespace {

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, char32_t character) {
  for (const Range& range : ranges)
    if (character >= range.first && character <= range.last) return true;
  return false;
}

// The blocks that matter in names and comments, not the whole Unicode tables.
constexpr std::array kZeroWidth = {Range{0x300, 0x36F},   Range{0x200B, 0x200F},
                                   Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F},
                                   Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF}};
constexpr std::array kBlank = {
    Range{0x9, 0xD},       Range{0x20, 0x20},      Range{0xA0, 0xA0},     Range{0x1680, 0x1680},
    Range{0x2000, 0x200A}, Range{0x2028, 0x2029},  Range{0x202F, 0x202F}, Range{0x205F, 0x2060},
    Range{0x2800, 0x2800}, Range{0x3000, 0x3000},  Range{0x3164, 0x3164}, Range{0xAD, 0xAD},
    Range{0x115F, 0x1160}, Range{0x17B4, 0x17B5},  Range{0x180B, 0x180F}, Range{0x2061, 0x2064},
    Range{0xFFA0, 0xFFA0}, Range{0xE0000, 0xE0FFF}};
constexpr std::array kWide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},  Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},  Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};

}  // namespace

bool is_harmless(char32_t character) {
  const bool control = character < 0x20 || (character >= 0x7F && character < 0xA0);
  // These would reorder the line on screen and misplace a diagnostic's caret.
  const bool reorders = (character >= 0x202A && character <= 0x202E) ||
                        (character >= 0x2066 && character <= 0x2069) || character == 0x200E ||
                        character == 0x200F || character == 0x061C;
  const bool separates = character == 0x2028 || character == 0x2029;
  return character != kMalformed && !control && !reorders && !separates;
}

std::u32string printable(std::string_view text) {
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    characters += character == U'\t' ? U' ' : is_harmless(character) ? character : U'?';
  }
  return characters;
}

bool is_showable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();)
    if (!is_harmless(next_character(text, at))) return false;
  return true;
}

bool is_blank(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (!within(kBlank, character) && !within(kZeroWidth, character)) return false;
  }
  return true;
}

std::string to_utf8(std::u32string_view characters) {
  std::string text;
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  for (const char32_t c : characters) {
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | (c >> 6)), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
    } else {
      put(0xF0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3F));
      put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
    }
  }
  return text;
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();)
    if (next_character(text, at) == kMalformed) return false;
  return true;
}

int display_width(char32_t character) {
  if (within(kZeroWidth, character)) return 0;
  return within(kWide, character) ? 2 : 1;
}

std::string clip(std::string_view text, std::size_t characters) {
  std::u32string all = printable(text);
  if (all.size() > characters) {
    all.resize(characters - 1);
    all += U'…';
  }
  return to_utf8(all);
}

}  // namespace acid
