#include "store/rows.hpp"

#include <algorithm>
#include <array>

namespace acid {

std::vector<std::string> tables_of(const Connection& connection) {
  return texts(connection,
               "SELECT name FROM sqlite_schema WHERE type = 'table'"
               " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'store_seal'"
               " ORDER BY name");
}

std::vector<std::string> columns_of(const Connection& connection, const std::string& table) {
  return texts(connection, "SELECT name FROM pragma_table_info(?)", table);
}

std::string way_to_attempt(const Connection& connection, const std::string& table) {
  if (table == "attempts") return "id";
  const std::vector<std::string> columns = columns_of(connection, table);
  for (const char* const way : {"attempt", "series", "checkpoint"})
    if (std::ranges::find(columns, way) != columns.end()) return way;
  return "";
}

std::string rows_of_attempts(const Connection& connection, const std::string& table,
                             const std::string& attempts) {
  const std::string way = way_to_attempt(connection, table);
  ACID_ASSERT(!way.empty(), "nothing leads from the table {} to an attempt", table);
  if (way == "id" || way == "attempt") return fmt::format("{} IN ({})", way, attempts);
  return fmt::format("{} IN (SELECT id FROM {} WHERE attempt IN ({}))", way,
                     way == "series" ? "series" : "checkpoints", attempts);
}

void delete_attempts(const Connection& connection, const std::string& attempts,
                     const std::string& one) {
  // What leads to an attempt through another table goes before that table's rows.
  constexpr std::array<std::array<const char*, 2>, 2> kPhases{
      {{"series", "checkpoint"}, {"attempt", "attempt"}}};
  const auto remove = [&](const std::string& table) {
    Statement(connection, fmt::format("DELETE FROM {} WHERE {}", table,
                                      rows_of_attempts(connection, table, attempts)))
        .bind(one)
        .run();
  };
  const std::vector<std::string> tables = tables_of(connection);
  for (const auto& phase : kPhases)
    for (const std::string& table : tables)
      if (std::ranges::count(phase, way_to_attempt(connection, table)) > 0) remove(table);
  remove("attempts");
}

}  // namespace acid
