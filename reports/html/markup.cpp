#include "reports/html/markup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/utf8.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

bool is_file_stem(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// Escaped text of a head, which may break into a new line within a long key.
std::string breakable(std::string_view escaped_text) {
  std::string result;
  for (std::size_t k = 0; k < escaped_text.size(); ++k) {
    result += escaped_text[k];
    const bool between = escaped_text[k] == '.' || escaped_text[k] == '_';
    if (between && k > 0 && k + 1 < escaped_text.size() && escaped_text[k + 1] != ' ' &&
        !(escaped_text[k + 1] >= '0' && escaped_text[k + 1] <= '9'))
      result += "<wbr>";
  }
  return result;
}

std::string value_attribute(const Markup& cell) {
  return cell.exact.empty() ? "" : fmt::format(" data-value=\"{}\"", escaped(cell.exact));
}

}  // namespace

std::string well_formed(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t c = next_character(text, at);
    const bool control = c == 0x7F || (c < 0x20 && c != '\n' && c != '\t');
    result += c == kMalformed || control ? kReplacement : text.substr(start, at - start);
  }
  return result;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : well_formed(text)) {
    const std::string_view name = entity(c);
    result += name.empty() ? std::string_view(&c, 1) : name;
  }
  return result;
}

Markup text(std::string_view plain) { return {escaped(plain)}; }

Markup number_text(std::string_view formatted) { return text(with_minus(formatted)); }

Markup number_text(std::string_view formatted, double exact) {
  return {escaped(with_minus(formatted)), fmt::format("{}", exact)};
}

Markup code(std::string_view plain) { return {fmt::format("<code>{}</code>", escaped(plain))}; }

std::string HtmlTable::html() const {
  ACID_ASSERT(is_file_stem(csv), "a table named '{}'", csv);
  // The caption is outside the box: inside it would scroll away with a wide table.
  std::string out;
  if (!caption.empty()) out += fmt::format("<p class=\"note\">{}</p>\n", escaped(caption));
  const std::string name = !caption.empty() ? caption : csv.empty() ? "table" : "table " + csv;
  out += fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table{}>\n",
      escaped(name), csv.empty() ? "" : fmt::format(" data-csv=\"{}\"", csv));
  const auto kind = [&](std::size_t column) {
    return column >= first_number ? " class=\"n\"" : "";
  };
  out += "<thead><tr>";
  for (std::size_t c = 0; c < head.size(); ++c)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", kind(c), breakable(escaped(head[c])));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    ACID_ASSERT(row.size() == head.size(), "{} cells, {} columns", row.size(), head.size());
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      out += fmt::format("<{0}{1}{2}>{3}</{4}>", c == 0 ? "th scope=\"row\"" : "td", kind(c),
                         value_attribute(row[c]), row[c].html, c == 0 ? "th" : "td");
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string data_values(std::string_view csv) {
  return fmt::format(" data-values=\"{}\"", escaped(csv));
}

std::string details(std::string_view summary, std::string_view body) {
  return fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", escaped(summary), body);
}

std::string paragraph(std::string_view plain) { return fmt::format("<p>{}</p>\n", escaped(plain)); }

std::string note(std::string_view plain) {
  return fmt::format("<p class=\"note\">{}</p>\n", escaped(plain));
}

}  // namespace acid
