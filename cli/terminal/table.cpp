#include "cli/terminal/table.hpp"

#include <fmt/format.h>

#include <limits>

#include "engine/base/error.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

/// Cells wider than `widest` are shortened.
TextTable text_table(const Table& table, const TextLines& lines, int widest) {
  TextTable text;
  text.lines = lines;
  text.rows.emplace_back();
  for (const auto& column : table.columns) {
    text.alignment.push_back(column.numeric ? TextTable::Align::right : TextTable::Align::left);
    text.rows.front().push_back(column.title);
  }
  for (const auto& row : table.rows) {
    ACID_ASSERT(row.size() == table.columns.size(), "a row of {} cells under {} titles", row.size(),
                table.columns.size());
    text.rows.emplace_back();
    for (const auto& cell : row) text.rows.back().push_back(shortened(cell, widest));
  }
  return text;
}

}  // namespace

std::string to_text(const Table& table, const TextLines& lines, int widest) {
  TextTable whole = text_table(table, lines, std::numeric_limits<int>::max());
  if (!lines.cut || whole.fits_whole()) return whole.str();
  TextTable cut = text_table(table, lines, widest);
  cut.lines.cut = false;  // every cell was shortened, not the first column alone
  return cut.str();
}

bool fits(const Table& table, int columns) {
  return text_table(table, {columns, true}, std::numeric_limits<int>::max()).fits_whole();
}

std::string to_csv(const Table& table) {
  std::vector<std::string> titles;
  for (const auto& column : table.columns) titles.push_back(column.title);
  std::string text = csv_line(titles);
  for (const auto& row : table.rows) text += csv_line(row);
  return text;
}

std::string to_markdown(const Table& table) {
  std::string text = "|", rule = "|";
  for (const auto& column : table.columns) {
    text += fmt::format(" {} |", markdown_cell(column.title));
    rule += column.numeric ? " ---: |" : " --- |";
  }
  text += fmt::format("\n{}\n", rule);
  for (const auto& row : table.rows) {
    text += '|';
    for (const auto& cell : row) text += fmt::format(" {} |", markdown_cell(cell));
    text += '\n';
  }
  return text;
}

std::string short_number(std::optional<double> value) {
  return value ? format_number(*value) : kDash;
}

}  // namespace acid
