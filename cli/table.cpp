#include "cli/table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "engine/base/error.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string markdown_cell(const std::string& cell) {
  std::string escaped;
  for (const char c : cell) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

}  // namespace

std::string to_text(const Table& table, int widest) {
  TextTable text;
  text.total = std::numeric_limits<int>::max();  // Cells are shortened here, not the first column.
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
  return text.str();
}

std::string to_csv(const Table& table) {
  std::string text;
  const auto add_cell = [&](std::size_t c, const std::string& cell) {
    if (c > 0) text += ',';
    text += csv_cell(cell);
  };
  for (std::size_t c = 0; c < table.columns.size(); ++c) add_cell(c, table.columns[c].title);
  text += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) add_cell(c, row[c]);
    text += '\n';
  }
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

std::string exact_number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);  // A NaN's sign means nothing.
}

}  // namespace acid
