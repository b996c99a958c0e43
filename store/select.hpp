#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite.hpp"

namespace acid {

// The names and short queries that this folder's files use. For this folder only.

using sqlite::Connection;
using sqlite::SqliteError;
using sqlite::Statement;
using sqlite::Transaction;

/// The first column of a query's rows.
template <class... Values>
std::vector<std::string> texts(const Connection& connection, std::string_view query,
                               const Values&... values) {
  std::vector<std::string> found;
  Statement select(connection, query);
  for (select.bind(values...); select.step();) found.push_back(select.text(0));
  return found;
}
template <class... Values>
std::vector<std::int64_t> numbers(const Connection& connection, std::string_view query,
                                  const Values&... values) {
  std::vector<std::int64_t> found;
  Statement select(connection, query);
  for (select.bind(values...); select.step();) found.push_back(select.integer(0));
  return found;
}
/// The first column of a query's only row, such as a count. NULL is 0.
template <class... Values>
std::int64_t one_number(const Connection& connection, std::string_view query,
                        const Values&... values) {
  Statement select(connection, query);
  select.bind(values...).step();
  return select.integer(0);
}

}  // namespace acid
