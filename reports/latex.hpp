#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Text as LaTeX prints it, also at the start of a row of a tabular: special characters escaped, ±
/// and superscript two in mathematics.
std::string latex_text(std::string_view text);
/// A line of comment. Line breaks in the text become blanks.
std::string latex_comment(std::string text);
/// A paragraph below a table, as wide as the text, each sentence with its full stop; empty without
/// any.
std::string latex_notes(const std::vector<std::string>& sentences);
/// Such a paragraph of LaTeX.
std::string latex_paragraph(std::string_view words);
/// "0.9369 ± 0.0012" or "(1.2 ± 0.3)e-07", as a report prints it, with minus signs and powers of
/// ten.
std::string latex_number(std::string_view formatted);
/// Points that a cell takes in Computer Modern of 10 pt, of what latex_text() and latex_number()
/// write.
double latex_width(std::string_view cell);
/// A head in as many lines as make it no wider than `width` or than its longest word.
std::string latex_head(const std::string& head, double width);
/// How columns, of so many points, fit the lines of a page (345 pt, those of the article class):
/// beside each other or, where smaller type does not help, in several tabulars, each with the key
/// columns before its own.
struct LatexFit {
  bool small = false;
  std::vector<std::array<std::size_t, 2>> parts;  // [first, last) of the columns
};
LatexFit latex_fit(const std::vector<double>& keys, const std::vector<double>& columns);
/// The tabulars of a fit, in its type: `tabular_of` makes one of a part.
std::string latex_tabulars(
    const LatexFit& fit,
    const std::function<std::string(std::array<std::size_t, 2> part)>& tabular_of);
/// Cells in LaTeX, the first row their heads, which get more lines where a page is too narrow.
struct LatexTable {
  std::vector<std::vector<std::string>> rows;
  std::size_t keys = 1;  // of the columns: they stand in every tabular

  /// For the booktabs package.
  std::string str() const;
};
/// A table environment around `inside`; `caption` is LaTeX.
std::string latex_float(std::string_view caption, std::string_view label, std::string_view inside);
/// What may follow \label and \ref: other characters become "-".
std::string latex_label(std::string name);
/// A metric's or setting's name for readers: "Test accuracy" of eval_accuracy, "Learning rate" of
/// learning_rate. Plain text.
std::string readable_name(std::string_view name);

}  // namespace acid
