#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store/sqlite.hpp"

namespace acid {

/// "ACID", by which file(1) and acid recognise store.db.
inline constexpr int kApplicationId = 0x41434944;

/// The scripts of all versions of the schema: each makes its version out of the one before. To
/// change the schema, add a schema_N.sql and count it in CMakeLists.txt; never edit a released one.
std::span<const std::string_view> migrations();
/// schema_digest() (store/schema.hpp) of what the scripts make. Change it together with them.
std::string_view newest_schema_digest();

/// Brings a database to version scripts.size() in one transaction, so that of several processes
/// that open an old store at once one migrates and the others find it done. Refuses a database of
/// another application, one made by a newer acid, one that differs from what the scripts make
/// (store/schema.hpp), and one of which a living process executes a run.
void migrate(const sqlite::Connection& connection, std::span<const std::string_view> scripts);

sqlite::Connection open_for_reading(const std::string& folder);

/// A connection that writes. It also checkpoints the write-ahead log, under the folder's lock:
/// SQLite before 3.51.3 can corrupt a database that two connections checkpoint at once.
class WritingConnection {
 public:
  enum class Durability {
    batched,       // a power cut may take the last commits; nothing is ever torn
    every_commit,  // a commit returns only when it and all earlier ones are on disk
  };
  WritingConnection(const std::string& folder, Durability durability);
  ~WritingConnection();

  sqlite::Connection& get() { return connection_; }
  const sqlite::Connection& get() const { return connection_; }
  /// From now on. Returns what it was. Must not be called inside a transaction.
  Durability set(Durability durability);

 private:
  std::string folder_;
  sqlite::Connection connection_;
  const bool is_shared_;  // among hosts: without a log each commit must be on disk
  Durability durability_;
};

/// While it lives, commits on the connection are of this durability, and then as they were before.
/// Must not be made or destroyed inside a transaction.
class CommitsAs {
 public:
  CommitsAs(WritingConnection& connection, WritingConnection::Durability durability)
      : connection_(connection), usual_(connection.set(durability)) {}
  ~CommitsAs();
  CommitsAs(const CommitsAs&) = delete;
  CommitsAs& operator=(const CommitsAs&) = delete;

 private:
  WritingConnection& connection_;
  const WritingConnection::Durability usual_;
};

}  // namespace acid
