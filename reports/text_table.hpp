#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Text from anywhere as a terminal may get it: what would move its cursor, change its title or the
/// direction of writing is written out ("\u001b"), and so are bytes that are not UTF-8. Line
/// breaks, tabs and colours stay.
std::string seen_on_terminal(std::string_view text);

/// Columns a terminal needs for UTF-8 text: combining marks take none, East Asian wide characters
/// and emoji two. A malformed byte counts as one column.
int terminal_columns(std::string_view text);

/// At most `width` columns; what is cut is replaced by "…".
std::string shortened(std::string_view text, int width);

/// Padded to `width` columns, at least two of them blank, so that what follows stands apart.
std::string padded(std::string_view text, std::size_t width);

/// Breaks at spaces into lines of at most `width` columns (a longer word has a line of its own);
/// lines after the first start with `indent`.
std::string wrapped(std::string_view text, int width, std::string_view indent = {});

/// What text is printed on: how many columns its lines have, and whether a table cuts what they
/// cannot hold, as a terminal needs it, or lets its lines be longer, as a file can have them.
struct TextLines {
  int columns = 80;
  bool cut = true;

  /// For sentences, which nobody reads in longer lines.
  int prose() const { return columns < kLongestProse ? columns : kLongestProse; }
  static constexpr int kLongestProse = 100;
};

/// Aligned by display width, two spaces between columns, no trailing spaces, every line ended by a
/// newline. Columns are as wide as their widest cell; when a line would be wider than
/// `lines` may be, the first column gives way, down to eight columns.
struct TextTable {
  enum class Align { left, right };
  std::vector<Align> alignment;
  std::vector<std::vector<std::string>> rows;
  std::string indent;
  TextLines lines;

  std::string str() const;
  /// Whether a terminal's lines hold it without shortening any cell but the first.
  bool fits() const;
  /// The same without shortening any.
  bool fits_whole() const;

 private:
  std::vector<int> natural_widths() const;
  std::vector<int> cut_widths() const;
  int line_columns(const std::vector<int>& widths) const;
};

/// One line of a CSV file: fields quoted as RFC 4180 asks where needed, ended by "\n". What is no
/// number and begins with = + - @, a tab or a carriage return has an apostrophe before it, so that
/// no spreadsheet takes it for a formula.
std::string csv_line(const std::vector<std::string>& fields);
/// A cell of a Markdown table.
std::string markdown_cell(std::string_view text);

}  // namespace acid
