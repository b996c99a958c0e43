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
    Column(const char* name) : title(name) {}  // NOLINT: a title is a column
    Column(std::string name, bool of_numbers = false)
        : title(std::move(name)), numeric(of_numbers) {}
    std::string title;
    bool numeric = false;  // right-aligned
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns
};

inline Table::Column of_numbers(std::string title) { return {std::move(title), true}; }

/// Aligned columns; where a terminal's lines cannot hold them, cells wider than `widest` are
/// shortened.
std::string to_text(const Table& table, const TextLines& lines, int widest = 26);
/// Whether lines of so many columns hold it.
bool fits(const Table& table, int columns);
/// Takes out the column with this title, if there is one.
void remove_column(Table& table, std::string_view title);
/// The same of one that is there, unless a cell of it says something.
void remove_if_empty(Table& table, std::string_view title);
/// Takes columns with these titles out, the first first, as far as it takes to fit().
void narrow(Table& table, int columns, std::span<const std::string> leaving);
/// RFC 4180 with "\n" line ends; the first line holds the titles.
std::string to_csv(const Table& table);
std::string to_markdown(const Table& table);

/// Shown in place of an absent value.
inline constexpr const char* kDash = "–";
/// Four significant digits; kDash when absent.
std::string short_number(std::optional<double> value);

}  // namespace acid
