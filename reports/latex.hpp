#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Text as LaTeX prints it, also at the start of a row of a tabular: special characters escaped,
/// Greek letters, signs and what is above or below the line in mathematics. Letters of other
/// languages stay as they are.
std::string latex_text(std::string_view text);
/// A line of comment. Line breaks in the text become blanks.
std::string latex_comment(std::string text);
/// A paragraph below a table, as wide as the text, each sentence with its full stop; empty without
/// any.
std::string latex_notes(const std::vector<std::string>& sentences);
std::string latex_paragraph(std::string_view words);
/// "0.9369 ± 0.0012" or "(1.2 ± 0.3)e-07", as a report prints it, with minus signs and powers of
/// ten.
std::string latex_number(std::string_view formatted);
/// The width in points, in Computer Modern of 10 pt, of a cell that latex_text() and latex_number()
/// write.
double latex_width(std::string_view cell);
/// A table environment around `inside`; `caption` is LaTeX.
std::string latex_float(std::string_view caption, std::string_view label, std::string_view inside);
/// What may follow \label and \ref: other characters become "-".
std::string latex_label(std::string name);
/// A metric's or setting's name for readers: "Test accuracy" of eval_accuracy, "Learning rate" of
/// learning_rate. Plain text.
std::string readable_name(std::string_view name);

}  // namespace acid
