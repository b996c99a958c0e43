#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Makes any text safe for a terminal: characters that would move its cursor, change its title or
/// the direction of writing are written out ("\u001b"), and so are bytes that are not UTF-8. Line
/// breaks, tabs and colours stay.
std::string seen_on_terminal(std::string_view text);

/// Columns a terminal needs for UTF-8 text: combining marks take none, East Asian wide characters
/// and emoji two. A malformed byte counts as one column.
int terminal_columns(std::string_view text);

/// At most `width` columns; "…" replaces the rest.
std::string shortened(std::string_view text, int width);

/// Each shortened, such that texts that differ still do where that can be: if their beginnings do
/// not, "…" is before their ends, or before where they differ.
std::vector<std::string> shortened_apart(const std::vector<std::string>& texts, int width);

/// Padded to `width` columns, with at least two blanks at the end.
std::string padded(std::string_view text, std::size_t width);

/// Breaks at spaces into lines of at most `width` columns (a longer word has a line of its own);
/// lines after the first start with `indent`.
std::string wrapped(std::string_view text, int width, std::string_view indent = {});

/// Bold and dim text, for a terminal that has colour.
struct Ink {
  bool colour = false;
  std::string bold(std::string_view text) const;
  std::string dim(std::string_view text) const;
};

/// The lines that text is printed on: their columns, and whether a table cuts longer lines, as a
/// terminal needs it, or keeps them, as a file can.
struct TextLines {
  int columns = 80;
  bool cut = true;

  /// For sentences, which are hard to read in longer lines.
  int prose() const { return columns < kLongestProse ? columns : kLongestProse; }
  static constexpr int kLongestProse = 100;
};

/// Aligned by display width, two spaces between columns, no trailing spaces, every line ended by a
/// newline. Columns are as wide as their widest cell; if a line would be wider than `lines` allows,
/// the first column is cut, down to eight columns.
struct TextTable {
  enum class Align { left, right };
  std::vector<Align> alignment;
  std::vector<std::vector<std::string>> rows;
  std::string indent;
  TextLines lines;

  std::string str() const;
  /// Whether a terminal's lines hold it with only the first column cut.
  bool fits() const;
  /// Whether a terminal's lines hold it without any cut.
  bool fits_whole() const;

 private:
  std::vector<int> natural_widths() const;
  std::vector<int> cut_widths() const;
  int line_columns(const std::vector<int>& widths) const;
};

/// One line of a CSV file: fields quoted by RFC 4180 if needed, ended by "\n". Text that begins
/// with = + - @, a tab or a carriage return and is no number gets an apostrophe before it, so that
/// no spreadsheet takes it for a formula.
std::string csv_line(const std::vector<std::string>& fields);
std::string markdown_cell(std::string_view text);

}  // namespace acid
