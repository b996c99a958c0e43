#include "tests/crash/mutations.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <random>
#include <utility>

#include "store/sqlite.hpp"

namespace acid::test {
namespace fs = std::filesystem;
namespace {

using sqlite::Connection;
using sqlite::Statement;

// SQL expressions for new values, by the type of a column.
const std::map<std::string, std::vector<std::string>> kValues{
    {"INTEGER",
     {"-1", "0", "1", "4294967296", "2147483648", "9007199254740993", "9223372036854775807",
      "-9223372036854775808", "NULL"}},
    {"REAL", {"-1.0", "0.0", "1e308", "-1e308", "9e999", "1e-300", "NULL"}},
    {"TEXT",
     {"''", "'null'", "'[]'", "'{}'", "'255'", "'[1e400]'", "'../../victim/zz'", "'x'",
      "char(27)||']0;x'", "CAST(x'ff00' AS TEXT)", "'2026-13-45T99:99:99.999Z'", "'\"'",
      "hex(zeroblob(200000))", "NULL"}},
    {"BLOB", {"x''", "x'00'", "zeroblob(1000000)", "NULL"}}};

// Replacements of one value within JSON.
const std::vector<std::string> kJsonValues{"'null'", "'-1'",   "'1e300'", "'4294967296'", "'\"x\"'",
                                           "'[]'",   "'{}'",   "'true'",  "'[[[]]]'",     "'0'",
                                           "'0.5'",  "'\"\"'", "'[-1]'"};

// A connection like that of the program sqlite3: no foreign keys.
Connection raw(const std::string& folder) {
  Connection connection(folder + "/store.db", folder, Connection::Mode::write);
  connection.execute("PRAGMA foreign_keys = OFF");
  return connection;
}

Mutation sql(const std::string& script) {
  return {script, [script](const std::string& folder) { raw(folder).execute(script); }};
}

std::vector<std::string> texts(const Connection& connection, const std::string& query) {
  Statement select(connection, query);
  std::vector<std::string> found;
  while (select.step()) found.push_back(select.text(0));
  return found;
}

/// " WHERE (attempt, worker) IN (…)": selects the k-th row of a table.
std::string only_row(const Connection& connection, const std::string& table, int k) {
  std::string key;
  for (const std::string& column : texts(
           connection,
           fmt::format("SELECT name FROM pragma_table_info('{}') WHERE pk > 0 ORDER BY pk", table)))
    key += (key.empty() ? "" : ", ") + column;
  return fmt::format(" WHERE ({0}) IN (SELECT {0} FROM {1} LIMIT 1 OFFSET {2})", key, table, k);
}

void add_columns(const Connection& connection, const std::string& table,
                 std::vector<Mutation>& all) {
  Statement columns(connection, "SELECT name, type FROM pragma_table_info(?)");
  columns.bind(table);
  while (columns.step()) {
    const std::string column = columns.text(0);
    int k = 0;
    for (const std::string& value : kValues.at(columns.text(1))) {
      const std::string where = ++k % 2 == 0 ? only_row(connection, table, k / 2) : "";
      all.push_back(
          sql(fmt::format("UPDATE OR IGNORE {} SET {} = {}{}", table, column, value, where)));
    }
    if (columns.text(1) != "TEXT") continue;
    // All paths in the column's JSON.
    const auto paths = texts(
        connection, fmt::format("SELECT DISTINCT j.fullkey FROM (SELECT {0} AS c FROM {1}"
                                " WHERE json_valid({0})) t, json_tree(t.c) j WHERE j.path IS NOT"
                                " NULL LIMIT 300",
                                column, table));
    for (const std::string& path : paths) {
      std::string quoted;
      for (const char c : path) quoted += c == '\'' ? "''" : std::string(1, c);
      const std::string& value = kJsonValues[static_cast<std::size_t>(++k) % kJsonValues.size()];
      const std::string valid = fmt::format(" WHERE json_valid({})", column);
      all.push_back(sql(fmt::format("UPDATE {0} SET {1} = json_set({1}, '{2}', json({3})){4}",
                                    table, column, quoted, value, valid)));
      all.push_back(sql(fmt::format("UPDATE {0} SET {1} = json_remove({1}, '{2}'){3}", table,
                                    column, quoted, valid)));
    }
  }
}

void add_tables(const Connection& connection, std::vector<Mutation>& all) {
  for (const std::string& table : texts(connection,
                                        "SELECT name FROM sqlite_schema WHERE type = 'table' AND"
                                        " name NOT LIKE 'sqlite_%'")) {
    add_columns(connection, table, all);
    all.push_back(sql("DELETE FROM " + table));
    for (const int k : {0, 1, 5})
      all.push_back(sql("DELETE FROM " + table + only_row(connection, table, k)));
    all.push_back(sql("DROP TABLE " + table));
    all.push_back(sql(fmt::format("ALTER TABLE {} ADD COLUMN surprise TEXT", table)));
    all.push_back(
        sql(fmt::format("CREATE TRIGGER t AFTER UPDATE ON {} BEGIN DELETE FROM points;"
                        " END",
                        table)));
  }
}

void add_schema(const Connection& connection, std::vector<Mutation>& all) {
  for (const std::string& view :
       texts(connection, "SELECT name FROM sqlite_schema WHERE type = 'view'")) {
    all.push_back(sql("DROP VIEW " + view));
    all.push_back(
        sql(fmt::format("DROP VIEW {0}; CREATE VIEW {0} AS WITH RECURSIVE c (x) AS"
                        " (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
                        view)));
  }
  for (const char* version : {"-2147483648", "-1", "0", "1", "2", "3", "99", "2147483647"})
    all.push_back(sql(fmt::format("PRAGMA user_version = {}", version)));
  for (const char* id : {"0", "1", "-1"})
    all.push_back(sql(fmt::format("PRAGMA application_id = {}", id)));
}

void add_files(const std::string& folder, std::vector<Mutation>& all) {
  for (const auto& entry : fs::recursive_directory_iterator(folder + "/checkpoints")) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), folder).string();
    const auto replace = [&](const char* by, const auto& make) {
      all.push_back({fmt::format("{} becomes {}", name, by), [=](const std::string& store) {
                       const fs::path path = fs::path(store) / name;
                       fs::remove(path);
                       make(path);
                     }});
    };
    replace("a pipe", [](const fs::path& path) { mkfifo(path.c_str(), 0600); });
    replace("a folder", [](const fs::path& path) { fs::create_directory(path); });
    replace("endless", [](const fs::path& path) { fs::create_symlink("/dev/zero", path); });
    replace("nothing", [](const fs::path&) {});
    all.push_back({name + " ends early", [=](const std::string& store) {
                     fs::resize_file(fs::path(store) / name, 100);
                   }});
  }
}

}  // namespace

std::vector<Mutation> mutations_of(const std::string& folder, std::uint64_t seed) {
  std::vector<Mutation> all;
  {
    const Connection connection = raw(folder);
    add_tables(connection, all);
    add_schema(connection, all);
  }
  add_files(folder, all);
  std::mt19937_64 random(seed);
  for (std::size_t k = all.size(); k > 1; --k) std::swap(all[k - 1], all[random() % k]);
  return all;
}

}  // namespace acid::test
