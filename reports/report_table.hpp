#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "reports/text_table.hpp"

namespace acid {

/// A cell or head of a table before it is text, Markdown or LaTeX. Plain text.
struct ReportCell {
  enum class Kind {
    words,
    number,  // as reports/numbers.hpp formats it: LaTeX has its minus signs and powers of ten
    symbol,  // its first letter is one: "n", "p (Holm)"
  };
  std::string text;
  Kind kind = Kind::words;
  std::string in_print = {};  // its text in a paper; empty: the same
  bool best = false, equivalent = false;
};

struct ReportColumn {
  std::vector<ReportCell> heads;  // from the top; blank: none
  TextTable::Align align = TextTable::Align::right;
  std::vector<ReportCell> cells;
};

/// All columns have as many cells, and as many heads.
struct ReportTable {
  std::vector<ReportColumn> columns;
  std::size_t keys = 1;   // the first columns that name a row; they are in every part
  std::size_t names = 1;  // the first so many are aligned left in LaTeX
  /// Rows with equal keys are together, and text and LaTeX print repeated keys once.
  bool grouped = false;

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().cells.size(); }
  bool repeats(std::size_t row, std::size_t column) const;
  /// Rows [first, last) of the keys and of the columns [first, last) after them.
  ReportTable part(std::array<std::size_t, 2> rows, std::array<std::size_t, 2> others) const;
};

inline constexpr std::string_view kBestMark = "†", kEquivalentMark = "≈";

/// For a screen; the marks follow the text.
TextTable text_table(const ReportTable& table, const TextLines& lines, std::string indent = "  ");
/// The lowest heads alone; the best are bold.
std::string markdown_table(const ReportTable& table);
/// Tabulars for the booktabs package, beside each other as far as a page is wide; equal neighbours
/// share an upper head, and the best are bold.
std::string latex_table(const ReportTable& table);

}  // namespace acid
