#include "reports/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/utf8.hpp"

namespace acid {
namespace {

/// Colours are set by "ESC [ 1 ; 31 m": how many bytes of that begin at `at`, or 0.
std::size_t colour_at(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\x1b[") return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 - at : 0;
}

/// Replaces line breaks and other control characters, which would tear a row apart.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

}  // namespace

std::string seen_on_terminal(std::string_view text) {
  std::string seen;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    char32_t character = next_character(text, at);
    if (character == kMalformed) character = 0xFFFD;
    const std::size_t colour = colour_at(text, start);
    if (colour > 0) at = start + colour;
    const bool is_shown =
        character == '\n' || character == '\t' || (is_harmless(character) && character != 0xFFFD);
    if (colour > 0 || is_shown)
      seen += text.substr(start, at - start);
    else
      seen += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(character));
  }
  return seen;
}

int terminal_columns(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) width += display_width(next_character(text, at));
  return width;
}

std::string shortened(std::string_view text, int width) {
  if (terminal_columns(text) <= width) return std::string(text);
  std::size_t at = 0;
  for (int used = 0; at < text.size();) {
    std::size_t next = at;
    used += display_width(next_character(text, next));
    if (used > width - 1) break;
    at = next;
  }
  return std::string(text.substr(0, at)) + "…";
}

namespace {

std::size_t count_distinct(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size();
}

/// The end of the text in at most `width` columns.
std::string_view ending(std::string_view text, int width) {
  std::size_t from = 0;
  for (int left = terminal_columns(text); left > width;)
    left -= display_width(next_character(text, from));
  // A mark belongs to the character before it.
  for (std::size_t next = from; next < text.size(); from = next)
    if (display_width(next_character(text, next)) > 0) break;
  return text.substr(from);
}

/// Where the texts that are wider first differ, at the beginning of a character.
std::size_t first_difference(const std::vector<std::string>& texts, int width) {
  const std::string* first = nullptr;
  std::size_t same = 0;
  for (const std::string& text : texts) {
    if (terminal_columns(text) <= width) continue;
    if (first == nullptr) {
      first = &text;
      same = text.size();
    }
    const auto end = std::ranges::mismatch(text, *first).in1;
    same = std::min(same, static_cast<std::size_t>(end - text.begin()));
  }
  while (first != nullptr && same > 0 && same < first->size() &&
         (static_cast<unsigned char>((*first)[same]) & 0xC0U) == 0x80U)
    --same;
  return same;
}

}  // namespace

std::vector<std::string> shortened_apart(const std::vector<std::string>& texts, int width) {
  const std::size_t different = count_distinct(texts);
  const auto cut_by = [&](const auto& cut) {
    std::vector<std::string> all;
    for (const std::string& text : texts)
      all.push_back(terminal_columns(text) <= width ? text : cut(text));
    return all;
  };
  for (int tail = 0; tail < width - 1; ++tail) {
    std::vector<std::string> all = cut_by([&](const std::string& text) {
      return shortened(text, width - tail) + std::string(ending(text, tail));
    });
    if (count_distinct(all) == different) return all;
  }
  const std::size_t from = first_difference(texts, width);
  std::vector<std::string> all = cut_by([&](const std::string& text) {
    return "…" + shortened(std::string_view(text).substr(from), width - 1);
  });
  if (count_distinct(all) == different) return all;
  return cut_by([&](const std::string& text) { return shortened(text, width); });
}

std::string Ink::bold(std::string_view text) const {
  return colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string Ink::dim(std::string_view text) const {
  return colour ? fmt::format("\x1b[2m{}\x1b[0m", text) : std::string(text);
}

std::string padded(std::string_view text, std::size_t width) {
  const auto taken = static_cast<std::size_t>(terminal_columns(text));
  return std::string(text) + std::string(std::max(width, taken + 2) - taken, ' ');
}

std::string wrapped(std::string_view text, int width, std::string_view indent) {
  std::string result, line;
  int line_width = 0;
  const auto end_line = [&] {
    result += line;
    line.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, space - at);
    const int word_width = terminal_columns(word);
    if (line_width > 0 && line_width + 1 + word_width > width) {
      end_line();
      line = '\n';
      line += indent;
      line_width = terminal_columns(indent);
    } else if (line_width > 0) {
      line += ' ';
      ++line_width;
    }
    line += word;
    line_width += word_width;
    at = space + 1;
  }
  end_line();
  return result;
}

std::vector<int> TextTable::natural_widths() const {
  std::vector<int> widths(alignment.size(), 0);
  for (const auto& row : rows) {
    ACID_ASSERT(row.size() == alignment.size(), "{} cells, {} columns", row.size(),
                alignment.size());
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], terminal_columns(row[c]));
  }
  return widths;
}

std::vector<int> TextTable::cut_widths() const {
  std::vector<int> widths = natural_widths();
  const int beyond = line_columns(widths) - lines.columns;
  if (beyond > 0) widths.front() = std::max(std::min(widths.front(), 8), widths.front() - beyond);
  return widths;
}

int TextTable::line_columns(const std::vector<int>& widths) const {
  int columns = terminal_columns(indent) - 2;
  for (const int width : widths) columns += width + 2;
  return columns;
}

bool TextTable::fits() const { return line_columns(cut_widths()) <= lines.columns; }

bool TextTable::fits_whole() const { return line_columns(natural_widths()) <= lines.columns; }

std::string TextTable::str() const {
  const std::vector<int> widths = lines.cut ? cut_widths() : natural_widths();
  std::string text;
  for (const auto& row : rows) {
    std::string line = indent;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string cell = shortened(one_line(row[c]), widths[c]);
      const std::string gap(static_cast<std::size_t>(widths[c] - terminal_columns(cell)), ' ');
      line += (c == 0 ? "" : "  ") + (alignment[c] == Align::right ? gap + cell : cell + gap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

namespace {

bool is_number(const std::string& text) {
  // from_chars() rejects a plus, and accepts "-inf" and "-nan".
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return rest == end && error != std::errc::invalid_argument;
}

// A spreadsheet evaluates text that begins like a formula. An apostrophe before it prevents that
// (OWASP, "CSV injection").
std::string without_formula(const std::string& text) {
  constexpr std::string_view kBegins = "=+-@\t\r";
  const bool formula = !text.empty() && kBegins.find(text.front()) != std::string_view::npos;
  return formula && !is_number(text) ? "'" + text : text;
}

std::string csv_field(const std::string& cell) {
  const std::string text = without_formula(cell);
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += csv_field(field) + ",";
  line.back() = '\n';
  return line;
}

std::string markdown_cell(std::string_view text) {
  const auto is_of_word = [&](std::size_t at) {  // at − 1 of the first is beyond the end
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  std::string cell;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool within = c == '_' && is_of_word(at - 1) && is_of_word(at + 1);
    const bool of_link = c == '(' && cell.ends_with(']');
    if (of_link || (std::string_view("|\\`*_").find(c) != std::string_view::npos && !within))
      cell += '\\';
    if (c == '<')
      cell += "&lt;";
    else if (c == '&')
      cell += "&amp;";
    else
      cell += c == '\n' || c == '\r' ? ' ' : c;
  }
  return cell;
}

}  // namespace acid
