#include "store/filter.hpp"

#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "engine/base/clock.hpp"
#include "store/store.hpp"

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;

constexpr double kMostSeconds = 5;
constexpr sqlite3_int64 kMostHeapBytes = 256 << 20;

/// While it lives, statements prepared on the connection can only select, within limits of time and
/// memory. One at a time in a process.
class Guard {
 public:
  explicit Guard(const Connection& connection) : handle_(connection.handle()) {
    sqlite3_set_authorizer(handle_, allow, nullptr);
    sqlite3_progress_handler(handle_, kStepsBetweenLooks, is_late, this);
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + kMostHeapBytes);
  }
  ~Guard() {
    sqlite3_hard_heap_limit64(0);
    sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
    sqlite3_set_authorizer(handle_, nullptr, nullptr);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  static constexpr int kStepsBetweenLooks = 100'000;
  static int is_late(void* guard) {
    return static_cast<Guard*>(guard)->clock_.seconds() > kMostSeconds ? 1 : 0;
  }
  static int allow(void*, int action, const char*, const char*, const char*, const char*) {
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION
               ? SQLITE_OK
               : SQLITE_DENY;
  }
  sqlite3* handle_;
  const SteadyClock clock_;
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

bool is_state(const std::string& word) {
  try {
    state_from_name(word);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Adds the quotes that are missing in `state = finished` and `state in (failed, "diverged")`:
/// without quotes, `finished` is the column of times.
std::string with_states_quoted(const std::string& text) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  std::string out;
  bool of_state = false;  // the next word is compared with the state
  for (std::size_t i = 0; i < text.size();) {
    const bool quoted = text[i] == '"';
    std::size_t end = i + 1;
    if (text[i] == '\'' || quoted)
      end = std::min(text.find(text[i], end), text.size() - 1) + 1;
    else if (in_word(text[i]))
      while (end < text.size() && in_word(text[end])) ++end;
    const std::string piece = text.substr(i, end - i);
    std::string word = quoted ? piece.substr(1, piece.size() - 2) : piece;
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool joins = word == "in" || word == "is" || word == "not";
    if (of_state && is_state(word)) {
      out += "'" + word + "'";
    } else {
      out += piece;
      const bool compares =
          std::string_view("=!<>(), '\t\n").find(text[i]) != std::string_view::npos;
      of_state = word == "state" || (of_state && (joins || compares));
    }
    i = end;
  }
  return out;
}

/// Empty when the failure is not due to the expression.
std::string why_refused(int code, const Connection& connection) {
  switch (code) {
    case SQLITE_ERROR:
    case SQLITE_AUTH:
    case SQLITE_MISMATCH:
      return sqlite3_errmsg(connection.handle());
    case SQLITE_INTERRUPT:
      return fmt::format("it takes longer than {:g} s", kMostSeconds);
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return fmt::format("it takes more than {} MiB of memory", kMostHeapBytes >> 20);
    default:
      return "";
  }
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
      fmt::join(selected, ", "), with_states_quoted(expression));
  const Guard guard(connection);
  try {
    Statement statement(connection, sql);
    statement.bind(nlohmann::json(dead).dump());
    std::unordered_set<std::string> ids;
    while (statement.step()) ids.insert(statement.text(0));
    return ids;
  } catch (const sqlite::SqliteError& error) {
    const std::string reason = why_refused(error.code(), connection);
    if (reason.empty()) throw;
    reject(expression, reason, columns);
  }
}

}  // namespace acid
