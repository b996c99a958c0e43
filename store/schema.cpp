#include "store/schema.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "engine/base/digest.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

struct SchemaObject {
  std::string table;  // the table that it belongs to
  std::string sql;
  bool operator==(const SchemaObject&) const = default;
};
// By type and name: ("view", "run_list").
using SchemaObjects = std::map<std::pair<std::string, std::string>, SchemaObject>;

SchemaObjects objects_in(const Connection& connection) {
  // SQLite reserves these names: no statement makes a table, view or trigger of one.
  Statement select(connection,
                   "SELECT type, name, tbl_name, sql FROM sqlite_schema"
                   " WHERE type NOT IN ('table', 'index') OR substr(name, 1, 7) <> 'sqlite_'");
  SchemaObjects objects;
  while (select.step())
    objects[{select.text(0), select.text(1)}] = {select.text(2), select.text(3)};
  return objects;
}

SchemaObjects objects_of(std::span<const std::string_view> scripts) {
  const Connection made(":memory:", "in memory", Connection::Mode::write);
  for (const std::string_view script : scripts) made.execute(std::string(script));
  return objects_in(made);
}

std::string digest_of(const SchemaObjects& objects) {
  std::string all;  // lengths are included, so that no text can pass for a part of another
  for (const auto& [key, object] : objects)
    for (const std::string* text : {&key.first, &key.second, &object.table, &object.sql})
      all += fmt::format("{}:{}", text->size(), *text);
  return sha256_hex(std::string_view(all));
}

[[noreturn]] void refuse(const Connection& connection, const std::string& what) {
  throw StoreError(
      fmt::format("the store {} {}: the database was altered outside acid, and nothing was "
                  "changed; go back to a copy of the folder, or choose another one "
                  "with --store",
                  connection.place(), what));
}

}  // namespace

void refuse_other_schema(const Connection& connection, std::span<const std::string_view> scripts,
                         std::string_view digest) {
  const SchemaObjects found = objects_in(connection);
  if (digest_of(found) == digest) return;
  const SchemaObjects expected = objects_of(scripts);
  for (const auto& [key, object] : found) {
    const auto& [type, name] = key;
    const auto known = expected.find(key);
    if (known == expected.end())
      refuse(connection, fmt::format("holds the {} '{}', which acid did not make", type, name));
    if (known->second != object)
      refuse(connection,
             fmt::format("holds the {} '{}' in another form than acid makes it", type, name));
  }
  for (const auto& [key, object] : expected)
    if (!found.contains(key))
      refuse(connection, fmt::format("has lost its {} '{}'", key.first, key.second));
}

std::string schema_digest(const Connection& connection) {
  return digest_of(objects_in(connection));
}

}  // namespace acid
