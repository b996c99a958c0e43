#include "cli/terminal/table.hpp"

#include <fmt/format.h>

#include <algorithm>
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

void remove_column(Table& table, std::string_view title) {
  const auto column = std::ranges::find(table.columns, title, &Table::Column::title);
  if (column == table.columns.end()) return;
  for (auto& row : table.rows) row.erase(row.begin() + (column - table.columns.begin()));
  table.columns.erase(column);
}

void remove_if_empty(Table& table, std::string_view title) {
  const auto column = std::ranges::find(table.columns, title, &Table::Column::title);
  const auto place = static_cast<std::size_t>(column - table.columns.begin());
  if (std::ranges::all_of(table.rows, [&](const auto& row) { return row[place].empty(); }))
    remove_column(table, title);
}

void narrow(Table& table, int columns, std::span<const std::string> leaving) {
  for (const std::string& title : leaving) {
    if (fits(table, columns)) return;
    remove_column(table, title);
  }
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
