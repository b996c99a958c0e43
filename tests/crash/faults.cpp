#include <filesystem>
#include <fstream>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "store/sqlite.hpp"
#include "tests/crash/bench.hpp"

namespace acid::test {
namespace fs = std::filesystem;
namespace {

using sqlite::Connection;
using sqlite::Statement;

std::string fault_of_file(const std::string& path, std::int64_t bytes, const std::string& sha256) {
  std::error_code error;
  if (!fs::exists(path, error)) return "is missing";
  if (static_cast<std::int64_t>(fs::file_size(path, error)) != bytes) return "has another size";
  return sha256_file(path) == sha256 ? "" : "has another content";
}

}  // namespace

std::string faults(const std::string& store_folder) {
  const std::string database = store_folder + "/store.db";
  std::error_code error;
  if (!fs::exists(database, error) || fs::file_size(database, error) == 0) return {};
  // A rollback journal exists only while a store is made: nothing was committed yet, and only the
  // next acid that writes may undo what was begun.
  if (fs::exists(database + "-journal", error)) return {};
  std::string found;
  const Connection connection(database, store_folder, Connection::Mode::read);
  Statement integrity(connection, "PRAGMA integrity_check");
  while (integrity.step())
    if (integrity.text(0) != "ok") found += integrity.text(0) + "\n";
  Statement keys(connection, "PRAGMA foreign_key_check");
  while (keys.step())
    found += fmt::format("a row of {} refers to {} in vain\n", keys.text(0), keys.text(2));
  Statement version(connection, "PRAGMA user_version");
  version.step();
  if (version.integer(0) == 0) return found;  // nothing was committed yet
  Statement files(connection,
                  "SELECT path, file_bytes, sha256 FROM checkpoints WHERE removed IS NULL"
                  " UNION ALL SELECT path, bytes, sha256 FROM artifacts");
  while (files.step()) {
    const std::string what =
        fault_of_file(store_folder + "/" + files.text(0), files.integer(1), files.text(2));
    if (!what.empty()) found += fmt::format("{} {}\n", files.text(0), what);
  }
  return found;
}

}  // namespace acid::test
