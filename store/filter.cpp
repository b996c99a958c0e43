#include "store/filter.hpp"

#include <fmt/ranges.h>
#include <sqlite3.h>

#include <nlohmann/json.hpp>

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;

/// While it lives, statements prepared on the connection can select and nothing else.
class ReadOnlyGuard {
 public:
  explicit ReadOnlyGuard(const Connection& connection) : handle_(connection.handle()) {
    sqlite3_set_authorizer(handle_, allow, nullptr);
  }
  ~ReadOnlyGuard() { sqlite3_set_authorizer(handle_, nullptr, nullptr); }
  ReadOnlyGuard(const ReadOnlyGuard&) = delete;
  ReadOnlyGuard& operator=(const ReadOnlyGuard&) = delete;

 private:
  static int allow(void*, int action, const char*, const char*, const char*, const char*) {
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION
               ? SQLITE_OK
               : SQLITE_DENY;
  }
  sqlite3* handle_;
};

[[noreturn]] void reject(const std::string& expression, const std::string& reason,
                         const std::vector<std::string>& columns) {
  throw UsageError(
      fmt::format("cannot filter runs by '{}': {}; expected one SQL expression such as \"state = "
                  "'finished' AND workers > 4\" over the columns {}",
                  expression, reason, fmt::join(columns, ", ")));
}

std::vector<std::string> columns_of_run_list(const Connection& connection) {
  Statement info(connection, "SELECT name FROM pragma_table_info('run_list')");
  std::vector<std::string> columns;
  while (info.step()) columns.push_back(info.text(0));
  return columns;
}

/// Why the text, put between parentheses, could be more than one expression; empty when it cannot.
/// Brackets must match outside of quotes, and nothing may hide or end the closing parenthesis.
std::string why_not_one_expression(const std::string& text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\'' || c == '"' || c == '`' || c == '[') {
      i = text.find(c == '[' ? ']' : c, i + 1);
      if (i == std::string::npos) return "a quote is not closed";
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      if (--depth < 0) return "a parenthesis closes that was not opened";
    } else if (c == ';' || c == '\0') {
      return "it holds more than one statement";
    } else if ((c == '-' && next == '-') || (c == '/' && next == '*')) {
      return "it holds a comment";
    } else if (c == '?' || c == ':' || c == '@' || c == '$') {
      return "it holds a parameter";
    }
  }
  return depth == 0 ? "" : "a parenthesis is not closed";
}

}  // namespace

std::unordered_set<std::string> runs_where(const Connection& connection,
                                           const std::string& expression,
                                           const std::unordered_set<std::string>& dead) {
  const std::vector<std::string> columns = columns_of_run_list(connection);
  if (const std::string reason = why_not_one_expression(expression); !reason.empty())
    reject(expression, reason, columns);
  std::vector<std::string> selected;
  for (const std::string& column : columns)
    selected.push_back(column != "state"
                           ? column
                           : "iif(id IN (SELECT value FROM json_each(?1)), 'interrupted', state) "
                             "AS state");
  const std::string sql = fmt::format(
      "WITH run_list AS (SELECT {} FROM main.run_list) SELECT id FROM run_list WHERE ({})",
      fmt::join(selected, ", "), expression);
  const ReadOnlyGuard guard(connection);
  try {
    Statement statement(connection, sql);
    statement.bind(nlohmann::json(dead).dump());
    std::unordered_set<std::string> ids;
    while (statement.step()) ids.insert(statement.text(0));
    return ids;
  } catch (const sqlite::SqliteError& error) {
    if (error.code() != SQLITE_ERROR && error.code() != SQLITE_AUTH &&
        error.code() != SQLITE_MISMATCH)
      throw;
    reject(expression, sqlite3_errmsg(connection.handle()), columns);
  }
}

}  // namespace acid
