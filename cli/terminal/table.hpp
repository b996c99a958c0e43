#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/text_table.hpp"

namespace acid {

/// Rows of text under named columns, for a person or for a program.
struct Table {
  struct Column {
    Column(const char* name) : title(name) {}             // NOLINT: a title is a column
    Column(std::string name) : title(std::move(name)) {}  // NOLINT: a title is a column
    std::string title;
    bool numeric = false;  // right-aligned
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns
};

/// A column of numbers.
inline Table::Column of_numbers(std::string title) {
  Table::Column column(std::move(title));
  column.numeric = true;
  return column;
}

/// Aligned columns; where a terminal's lines cannot hold them, cells wider than `widest` are
/// shortened.
std::string to_text(const Table& table, const TextLines& lines, int widest = 26);
/// Whether lines of so many columns hold it.
bool fits(const Table& table, int columns);
/// Removes the column with this title, if there is one.
void remove_column(Table& table, std::string_view title);
/// Removes the column with this title, which must be there, if all of its cells are empty.
void remove_if_empty(Table& table, std::string_view title);
/// Removes columns with these titles, one after the other, until the table fits().
void narrow(Table& table, int columns, std::span<const std::string> leaving);
/// RFC 4180 with "\n" line ends; the first line holds the titles.
std::string to_csv(const Table& table);
std::string to_markdown(const Table& table);

/// Shown in place of an absent value.
inline constexpr const char* kDash = "–";
/// Four significant digits; kDash when absent.
std::string short_number(std::optional<double> value);

}  // namespace acid
