#include "reports/report_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace acid {

bool ReportTable::repeats(std::size_t row, std::size_t column) const {
  if (!grouped || row == 0 || column >= keys) return false;
  return std::all_of(
      columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(column) + 1,
      [&](const ReportColumn& one) { return one.cells[row].text == one.cells[row - 1].text; });
}

ReportTable ReportTable::part(std::array<std::size_t, 2> rows,
                              std::array<std::size_t, 2> others) const {
  ReportTable part{{}, keys, names, grouped};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (c >= keys && (c < keys + others[0] || c >= keys + others[1])) continue;
    const ReportColumn& whole = columns[c];
    const auto cells = whole.cells.begin();
    part.columns.push_back({whole.heads,
                            whole.align,
                            {cells + static_cast<std::ptrdiff_t>(rows[0]),
                             cells + static_cast<std::ptrdiff_t>(rows[1])}});
  }
  return part;
}

TextTable text_table(const ReportTable& table, const TextLines& lines, std::string indent) {
  TextTable text{.alignment = {}, .rows = {}, .indent = std::move(indent), .lines = lines};
  for (const ReportColumn& column : table.columns) text.alignment.push_back(column.align);
  const std::size_t levels = table.columns.front().heads.size();
  for (std::size_t level = 0; level < levels; ++level) {
    std::vector<std::string> heads;
    for (const ReportColumn& column : table.columns) heads.push_back(column.heads[level].text);
    const bool blank = std::ranges::all_of(heads, &std::string::empty);
    if (!blank || level + 1 == levels) text.rows.push_back(std::move(heads));
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    text.rows.emplace_back();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const ReportCell& cell = table.columns[c].cells[row];
      text.rows.back().push_back(table.repeats(row, c)
                                     ? ""
                                     : fmt::format("{}{}{}", cell.text, cell.best ? kBestMark : "",
                                                   cell.equivalent ? kEquivalentMark : ""));
    }
  }
  return text;
}

std::string markdown_table(const ReportTable& table) {
  std::string text = "|", rule = "\n|";
  for (const ReportColumn& column : table.columns) {
    text += fmt::format(" {} |", markdown_cell(column.heads.back().text));
    rule += column.align == TextTable::Align::left ? "---|" : "--:|";
  }
  text += rule + "\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    text += "|";
    for (const ReportColumn& column : table.columns) {
      const ReportCell& cell = column.cells[row];
      text += fmt::format(" {0}{1}{0}{2} |", cell.best ? "**" : "", markdown_cell(cell.text),
                          cell.equivalent ? kEquivalentMark : "");
    }
    text += "\n";
  }
  return text;
}

}  // namespace acid
