#include "store/filter.hpp"

#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "store/condition.hpp"
#include "store/impl.hpp"
#include "store/rows.hpp"

namespace acid {
namespace {

constexpr double kMostSeconds = 5;
constexpr sqlite3_int64 kMostHeapBytes = 256 << 20;

/// Functions whose value depends on their arguments alone.
bool is_arithmetic(std::string_view function) {
  constexpr std::array<std::string_view, 41> kFunctions{
      "abs",     "acos",     "acosh", "asin", "asinh", "atan",  "atan2", "atanh", "ceil",
      "ceiling", "cos",      "cosh",  "exp",  "floor", "ln",    "log",   "log10", "log2",
      "max",     "min",      "mod",   "pi",   "pow",   "power", "round", "sign",  "sin",
      "sinh",    "sqrt",     "tan",   "tanh", "trunc", "iif",   "like",  "glob",  "ifnull",
      "nullif",  "coalesce", "->",    "->>",  "typeof"};
  return std::ranges::find(kFunctions, function) != kFunctions.end();
}

/// While it lives, statements prepared on the connection can only select, within limits of time and
/// memory. One at a time in a process.
class Guard {
 public:
  enum class Functions { all, arithmetic };
  explicit Guard(const Connection& connection, Functions functions = Functions::all)
      : handle_(connection.handle()), begun_(clock_.seconds()) {
    sqlite3_set_authorizer(handle_, functions == Functions::all ? allow : allow_arithmetic,
                           nullptr);
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
    const Guard& self = *static_cast<Guard*>(guard);
    return self.clock_.seconds() - self.begun_ > kMostSeconds ? 1 : 0;
  }
  static int allow(void*, int action, const char*, const char*, const char*, const char*) {
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION
               ? SQLITE_OK
               : SQLITE_DENY;
  }
  static int allow_arithmetic(void* guard, int action, const char* what, const char* function,
                              const char* place, const char* view) {
    if (action == SQLITE_FUNCTION && !is_arithmetic(function)) return SQLITE_DENY;
    return allow(guard, action, what, function, place, view);
  }
  sqlite3* handle_;
  const SteadyClock clock_;
  const double begun_;
};

ConditionNames names_in(const Connection& connection) {
  ConditionNames names;
  names.columns = columns_of(connection, "run_list");
  // All runs' settings have the same sections.
  for (std::string& section :
       texts(connection,
             "SELECT j.key FROM (SELECT settings FROM runs ORDER BY number DESC LIMIT 1) r,"
             " json_each(r.settings) j"))
    names.sections.insert(std::move(section));
  return names;
}

/// " (did you mean 'workers.count'?)" where a column or a key of the newest run is near the name.
std::string nearest_words(const Connection& connection, const std::string& name,
                          std::vector<std::string> known) {
  for (std::string& key :
       texts(connection,
             "SELECT substr(replace(j.fullkey, '\"', ''), 3) FROM (SELECT settings FROM runs"
             " ORDER BY number DESC LIMIT 1) r, json_tree(r.settings) j"
             " WHERE j.type != 'object' AND j.path NOT LIKE '%[%'"))
    if (key != name) known.push_back(std::move(key));
  const auto nearest = nearest_name(name, known);
  return nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "";
}

/// A key that no run has is misspelt.
void require_known(const Connection& connection, const std::string& text,
                   const RunCondition& condition, const ConditionNames& names) {
  for (const std::string& key : condition.keys) {
    Statement known(connection,
                    "SELECT 1 FROM runs WHERE json_type(settings, ?1) IS NOT NULL LIMIT 1");
    known.bind(json_path(key));
    if (!known.step())
      reject_condition(
          text,
          fmt::format("no run here has a setting '{}'{}", key, nearest_words(connection, key, {})),
          names.columns);
  }
}

bool is_of_experiment(std::string_view column) {
  return column == "experiment" || column == "experiment_name" || column == "label" ||
         column == "role";
}

/// The places as JSON, in the form that query_of() reads.
std::string seen_text(const std::unordered_map<std::string, SeenRun>& seen) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [id, run] : seen)
    rows.push_back(nlohmann::json::array(
        {id, run.experiment, run.name, run.label, run.is_search ? "search" : ""}));
  return json_text(rows);
}

/// The runs for which the condition holds. A run without a graph is asked with its own settings and
/// beside each graph of the others.
std::string query_of(const RunCondition& condition, const std::vector<std::string>& columns) {
  std::vector<std::string> selected;
  for (const std::string& column : columns)
    selected.push_back(
        column == "state" ? "iif(id IN (SELECT value FROM json_each(?1)), 'interrupted', state) "
                            "AS state"
        : is_of_experiment(column) ? fmt::format("coalesce(seen_{0}, {0}) AS {0}", column)
                                   : column);
  const std::string asked = "(?2 IS NULL OR id IN (SELECT value FROM json_each(?2)))";
  const std::string runs = fmt::format(
      // SQLite makes an index for the join only if seen_id has a type.
      "seen AS (SELECT CAST(value ->> 0 AS TEXT) AS seen_id, value ->> 1 AS seen_experiment,"
      " value ->> 2 AS seen_experiment_name, value ->> 3 AS seen_label, value ->> 4 AS seen_role"
      " FROM json_each(?3)), run_list AS (SELECT {} FROM main.run_list"
      " LEFT JOIN seen ON seen_id = id WHERE {})",
      fmt::join(selected, ", "), asked);
  if (!condition.names_graph)
    return fmt::format("WITH {} SELECT id FROM run_list WHERE ({})", runs, condition.sql);
  return fmt::format(
      "WITH {0}, {1}({2}) AS (SELECT NULL UNION ALL SELECT DISTINCT settings -> '$.{3}'"
      " FROM main.runs WHERE json_type(settings, '$.{3}') = 'object' AND {4})"
      " SELECT DISTINCT id FROM run_list JOIN {1}"
      " ON {2} IS NULL OR json_type(settings, '$.{3}') = 'null' WHERE ({5})",
      runs, kGraphs, kGraph, kGraphSection, asked, condition.sql);
}

/// SQLite's words; a name that it does not know is followed by what is near it.
std::string words_of_sqlite(const Connection& connection, const std::vector<std::string>& columns) {
  constexpr std::string_view kUnknown = "no such column: ";
  std::string words = sqlite3_errmsg(connection.handle());
  if (!words.starts_with(kUnknown)) return words;
  words.erase(std::min(words.find(" - "), words.size()));  // newer SQLite says what it could be
  std::erase(words, '"');
  return words + nearest_words(connection, words.substr(kUnknown.size()), columns);
}

/// Empty when the failure is not due to the expression.
std::string why_refused(int code, const Connection& connection,
                        const std::vector<std::string>& columns) {
  switch (code) {
    case SQLITE_ERROR:
    case SQLITE_AUTH:
    case SQLITE_MISMATCH:
      return words_of_sqlite(connection, columns);
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

std::unordered_set<std::string> ids_where(const Connection& connection,
                                          const std::vector<std::string>& conditions,
                                          const std::unordered_set<std::string>& dead,
                                          const std::optional<std::string>& asked,
                                          const std::unordered_map<std::string, SeenRun>& seen) {
  const ConditionNames names = names_in(connection);
  RunCondition all{.sql = "1", .keys = {}, .names_graph = false};
  for (const std::string& text : conditions) {
    const RunCondition condition = parse_condition(text, names);
    require_known(connection, text, condition, names);
    all.sql += fmt::format(" AND ({})", condition.sql);
    all.names_graph = all.names_graph || condition.names_graph;
  }
  const std::string seen_as = seen_text(seen);
  try {
    const Guard guard(connection);
    // A statement that the guard has not seen must not be taken, and none is left behind.
    Statement statement(connection, query_of(all, names.columns), Statement::After::finalize);
    statement.bind(nlohmann::json(dead).dump(), asked, seen_as);
    std::unordered_set<std::string> ids;
    while (statement.step()) ids.insert(statement.text(0));
    return ids;
  } catch (const sqlite::SqliteError& error) {
    const std::string reason = why_refused(error.code(), connection, names.columns);
    if (reason.empty()) throw;
    reject_condition(fmt::format("{}", fmt::join(conditions, " and ")), reason, names.columns);
  }
}

bool name_role(const Store& store, const std::vector<std::string>& conditions) {
  const ConditionNames names = names_in(store.impl().connection());
  return std::ranges::any_of(
      conditions, [&](const std::string& text) { return parse_condition(text, names).names_role; });
}

namespace {
/// As in arithmetic: 1 / 4 is a quarter, where SQL divides whole numbers to 0.
std::string divided_exactly(const std::string& expression) {
  std::string exact;
  char quote = '\0';
  for (const char c : expression) {
    if (quote != '\0')
      quote = c == quote ? '\0' : quote;
    else if (c == '\'' || c == '"' || c == '`')
      quote = c;
    exact += quote == '\0' && c == '/' ? "* 1.0 /" : std::string(1, c);
  }
  return exact;
}
}  // namespace

double number_of_settings(const std::string& expression, const nlohmann::json& settings) {
  const Connection connection(":memory:", "a formula", Connection::Mode::write);
  connection.execute("CREATE TABLE runs (number INTEGER PRIMARY KEY, settings TEXT NOT NULL)");
  Statement(connection, "INSERT INTO runs (settings) VALUES (?)").bind(settings.dump()).run();
  ConditionNames names;
  for (const auto& [section, value] : settings.items()) names.sections.insert(section);
  const RunCondition formula = parse_condition(divided_exactly(expression), names);
  require_known(connection, expression, formula, names);
  try {
    const Guard guard(connection, Guard::Functions::arithmetic);
    Statement statement(
        connection,
        fmt::format(
            "WITH {0}({1}) AS (SELECT NULL) SELECT iif(typeof(v) IN ('integer', 'real'), 1.0 * v,"
            " NULL) FROM (SELECT ({2}) AS v FROM runs, {0})",
            kGraphs, kGraph, formula.sql),
        Statement::After::finalize);
    if (!statement.step() || statement.is_null(0))
      reject_condition(expression, "it gives no number", names.columns);
    const double value = statement.real(0);
    if (!std::isfinite(value))
      reject_condition(expression, "it gives a number that is too large", names.columns);
    return value;
  } catch (const sqlite::SqliteError& error) {
    const std::string reason = why_refused(error.code(), connection, names.columns);
    if (reason.empty()) throw;
    reject_condition(expression, reason, names.columns);
  }
}

}  // namespace acid
