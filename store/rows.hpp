#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/select.hpp"

namespace acid {

// Rows of all tables alike, so that what copies, merges or removes runs names no table. For this
// folder only.

/// All tables but SQLite's own and the seal of the lists, by name.
std::vector<std::string> tables_of(const Connection& connection);
std::vector<std::string> columns_of(const Connection& connection, const std::string& table);

/// The column that leads from a table's rows to an attempt: "id" of attempts, "attempt", "series"
/// or "checkpoint". Empty: none does.
std::string way_to_attempt(const Connection& connection, const std::string& table);
/// An SQL condition for a table's rows of the attempts that a query gives by their `id`. The table
/// has a way there.
std::string rows_of_attempts(const Connection& connection, const std::string& table,
                             const std::string& attempts);

/// Copies the rows for which `where` holds. `value`: what SQL expression stands for a column.
template <class... Values>
void copy_rows(const Connection& from, const Connection& to, const std::string& table,
               const std::string& where,
               const std::function<std::string(const std::string&)>& value,
               const Values&... values) {
  std::string names, selected, places;
  for (const std::string& column : columns_of(from, table)) {
    names += (names.empty() ? "" : ", ") + column;
    selected += (selected.empty() ? "" : ", ") + value(column);
    places += places.empty() ? "?" : ", ?";
  }
  Statement select(from, fmt::format("SELECT {} FROM {} WHERE {}", selected, table, where));
  Statement insert(to, fmt::format("INSERT INTO {} ({}) VALUES ({})", table, names, places));
  for (select.bind(values...); select.step();) insert.bind_row(select).run();
}
inline std::string as_it_is(const std::string& column) { return column; }

/// Deletes attempts with all that belongs to them. In a transaction with deferred foreign keys.
/// `attempts`: a query of their ids, with ?1.
void delete_attempts(const Connection& connection, const std::string& attempts,
                     const std::string& one);

}  // namespace acid
