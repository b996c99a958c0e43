#pragma once

#include <string>
#include <string_view>

namespace acid {

/// What next_character() gives for a byte that belongs to no well-formed character.
inline constexpr char32_t kMalformed = 0xFFFFFFFF;
/// The character at `at`, which moves past it, or past one byte that is malformed.
char32_t next_character(std::string_view text, std::size_t& at);

/// Whether a terminal can show the character: not malformed, no control character, and none that
/// changes the direction of writing.
bool is_harmless(char32_t character);

/// The characters of UTF-8 text. Invalid bytes, and control characters, which could disturb a
/// terminal, become '?'; a tab becomes a space.
std::u32string printable(std::string_view text);
/// Whether the text can be shown unchanged: valid UTF-8 without control characters and without
/// characters that change the direction of writing.
bool is_showable(std::string_view text);
/// Whether nothing of the text is seen: it is empty, or of spaces and characters without width.
bool is_blank(std::string_view text);
std::string to_utf8(std::u32string_view characters);
bool is_valid_utf8(std::string_view text);

/// Terminal columns of a character: 0 for combining marks, 2 for wide East Asian ones and emoji, 1
/// for a malformed byte.
int display_width(char32_t character);

/// At most `characters` printable characters; the last is an ellipsis if the text was cut.
std::string clip(std::string_view text, std::size_t characters);

}  // namespace acid
