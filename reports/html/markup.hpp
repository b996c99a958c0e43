#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Text that is HTML already. Text from people becomes Markup only through text(), so that it is
/// always escaped.
struct Markup {
  std::string html;
  std::string exact = {};  // plain text: for a table's CSV, if the shown text is rounded
};

/// Bytes that are not UTF-8 and control characters become U+FFFD.
std::string well_formed(std::string_view text);
/// well_formed() with & < > " ' as entities.
std::string escaped(std::string_view text);
Markup text(std::string_view plain);
Markup number_text(std::string_view formatted);
/// A rounded number, with all its digits for the table's CSV.
Markup number_text(std::string_view formatted, double exact);
Markup code(std::string_view plain);

/// A table in a box of its own that scrolls sideways on narrow screens.
struct HtmlTable {
  /// Stem of the file name for saving it, unique in the page, of a-z, 0-9 and '-'; empty: none.
  std::string csv = {};
  std::string caption = {};  // plain text; may be empty
  std::vector<std::string> head = {};
  std::vector<std::vector<Markup>> rows = {};
  /// Columns from this one on hold numbers and are aligned right.
  std::size_t first_number = 1;

  std::string html() const;
};

/// A figure's attribute with its data as CSV, which is saved beside its drawing.
std::string data_values(std::string_view csv);

/// <details> with the summary (plain text) and a body of HTML.
std::string details(std::string_view summary, std::string_view body);
std::string paragraph(std::string_view plain);
/// A paragraph in small print.
std::string note(std::string_view plain);

/// The page's only style sheet. Its hash is in the page's content security policy.
std::string_view style_sheet();

/// A short line in a series' colour and dash with its marker, for legends and tables.
std::string swatch(int style);

}  // namespace acid
