#include "store/open.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "store/folder_lock.hpp"
#include "store/hosts.hpp"
#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/schema.hpp"
#include "store/schema_sql.hpp"
#include "store/select.hpp"

namespace acid {
namespace fs = std::filesystem;
namespace {

// The digest of the schema that all scripts make together, so that a store is compared without
// executing them.
constexpr std::string_view kSchemaDigest =
    "9b6d12f74a9553aeccbddcb7a62b90ffdcc49b7ff8629c858bc3b14af09d06af";
// Stores of earlier versions have other seals, earlier_seals.cpp.
constexpr std::int64_t kSealsSince = 9;
constexpr int kCheckpointPages = 1000;  // 8 MB of write-ahead log

bool is_all(std::span<const std::string_view> scripts) {
  return scripts.data() == kMigrations.data() && scripts.size() == kMigrations.size();
}

/// An older acid that is executing a run does not know what a newer version requires: rows that it
/// wrote after a migration would look altered.
void refuse_while_executed(const Connection& connection) {
  for (const OpenAttempt& attempt : open_attempts(connection))
    if (attempt.goes_on)
      throw StoreError(fmt::format(
          "the store {} was made by an older acid, and process {} on host {} executes run {} of it "
          "since {}: nothing was changed, and it can be brought up to date once that has ended; {}",
          connection.place(), attempt.lease.pid, attempt.lease.host, attempt.run, attempt.started,
          how_to_end(attempt)));
}

std::string database_file(const std::string& folder) { return folder + "/store.db"; }

/// Returns the version, after checking that the file is a store and that this acid knows the
/// version. 0: the file is empty.
std::int64_t checked_version(const Connection& connection, std::size_t newest) {
  const std::int64_t version = connection.pragma("user_version");
  const std::int64_t application = connection.pragma("application_id");
  if (application != kApplicationId &&
      (application != 0 || one_number(connection, "SELECT count(*) FROM sqlite_schema") != 0))
    throw StoreError(fmt::format(
        "{}/store.db belongs to another program; nothing was changed. Choose another folder with "
        "--store",
        connection.place()));
  if (version < 0)
    throw StoreError(fmt::format(
        "the store {} says that it has schema {}: the database was altered outside acid, and "
        "nothing was changed; go back to a copy of the folder",
        connection.place(), version));
  if (version > static_cast<std::int64_t>(newest))
    throw StoreError(fmt::format(
        "the store {} was made by a newer acid (schema {}; this one knows up to {}); nothing was "
        "changed. Update acid, or choose another folder with --store",
        connection.place(), version, newest));
  return version;
}

// SQLite calls this after each commit. A failure must not be reported: the commit has happened, and
// frames that are not checkpointed stay safe in the log.
int checkpoint_when_long(void* folder, sqlite3* handle, const char* database, int pages) {
  if (pages < kCheckpointPages) return SQLITE_OK;
  const FolderLock lock(*static_cast<const std::string*>(folder), FolderLock::Wait::no);
  if (lock.held())
    sqlite3_wal_checkpoint_v2(handle, database, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  return SQLITE_OK;
}

// The page size can only be set before anything is written. A write-ahead log that another process
// of this host uses stays until it is the last to be opened.
void set_journal_mode(Connection& connection, const std::string& journal, bool must) {
  const bool may_stay = journal == "delete" && !must;
  if (may_stay) connection.set_busy_timeout(0);
  try {
    connection.execute(fmt::format("PRAGMA page_size = 8192; PRAGMA journal_mode = {}", journal));
  } catch (const sqlite::SqliteError& error) {
    if (!may_stay || error.code() != SQLITE_BUSY) throw;
  }
  connection.set_busy_timeout(Connection::kBusySeconds);
}

Connection open_and_set_up(const std::string& folder) {
  make_store_folder(folder);
  // Two processes that create one store at once would otherwise fail to agree on its journal.
  const FolderLock lock(folder, FolderLock::Wait::yes);
  Connection connection(database_file(folder), folder, Connection::Mode::write);
  checked_version(connection, kMigrations.size());
  const bool network = is_on_network(folder);
  if (network) share_among_hosts(folder);
  const std::string journal = network || is_shared_among_hosts(folder) ? "delete" : "wal";
  if (texts(connection, "PRAGMA journal_mode").front() != journal)
    set_journal_mode(connection, journal, network);
  migrate(connection, kMigrations);
  return connection;
}

}  // namespace

std::span<const std::string_view> migrations() { return kMigrations; }

std::string_view newest_schema_digest() { return kSchemaDigest; }

void migrate(const Connection& connection, std::span<const std::string_view> scripts) {
  const auto target = static_cast<std::int64_t>(scripts.size());
  if (checked_version(connection, scripts.size()) == target)
    return refuse_other_schema(connection, scripts, is_all(scripts) ? kSchemaDigest : "");
  Transaction transaction(connection, Transaction::Kind::write);
  // Another process may have migrated the store while this one waited for the lock.
  const std::int64_t version = checked_version(connection, scripts.size());
  refuse_other_schema(connection, scripts.first(static_cast<std::size_t>(version)));
  if (version > 0 && is_all(scripts)) refuse_while_executed(connection);
  for (std::int64_t next = version; next < target; ++next)
    connection.execute(std::string(scripts[static_cast<std::size_t>(next)]));
  if (version > 0 && version < kSealsSince && is_all(scripts)) seal_again(connection);
  connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, target));
  transaction.commit();
}

namespace {

[[noreturn]] void cannot_look_into(const std::string& folder, const std::error_code& error) {
  throw StoreError(fmt::format("cannot look into the store {}: {}; check its permissions", folder,
                               error.message()));
}

/// In bytes; 0 when there is no such file.
std::uintmax_t size_of(const std::string& folder, const std::string& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error == std::errc::no_such_file_or_directory) return 0;
  if (error) cannot_look_into(folder, error);
  return bytes;
}

/// Whether the header says that a write-ahead log is kept. SQLite reads it: the end of any other
/// reading would give up the locks that this process has on the file.
bool has_log(const Connection& connection) {
  constexpr sqlite3_int64 kWhere = 18;
  std::array<unsigned char, 2> versions{};  // of the format, for writers and for readers
  sqlite3_file* file = nullptr;
  const int code =
      sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return code == SQLITE_OK && file != nullptr && file->pMethods != nullptr &&
         file->pMethods->xRead(file, versions.data(), 2, kWhere) == SQLITE_OK &&
         versions == std::array<unsigned char, 2>{2, 2};
}

// A process that was killed while it made the store may have left a journal behind, which only a
// writer may undo: where it may write, this function becomes a writer for a moment.
void undo_what_was_begun(const std::string& folder, const sqlite::SqliteError& error) {
  if (error.code() != SQLITE_READONLY || access(folder.c_str(), W_OK) != 0) throw error;
  const WritingConnection undone(folder, WritingConnection::Durability::every_commit);
}

}  // namespace

Connection open_for_reading(const std::string& folder) {
  const std::string file = database_file(folder);
  std::error_code error;
  if (!fs::exists(file, error)) {
    if (error) cannot_look_into(folder, error);
    throw StoreError(
        fmt::format("there is no store in {}; 'acid run RECIPE' creates one, --store DIR or "
                    "ACID_STORE names another folder",
                    folder));
  }
  // Readers of a write-ahead log coordinate through a file beside the store. Where there is none
  // (store.db was copied alone) and none can be created, no process can be writing either. Writers
  // without such a log leave nothing beside the store between two commits.
  const bool log_is_empty = size_of(folder, file + "-wal") == 0;
  const bool immutable = access(folder.c_str(), W_OK) != 0 && !fs::exists(file + "-shm", error) &&
                         log_is_empty &&
                         has_log(Connection(file, folder, Connection::Mode::immutable));
  const auto mode = immutable                       ? Connection::Mode::immutable
                    : is_shared_among_hosts(folder) ? Connection::Mode::read_and_undo
                                                    : Connection::Mode::read;
  constexpr int kAttempts = 3;  // each time, another process may be killed meanwhile
  for (int attempt = 1; attempt <= kAttempts; ++attempt) try {
      checked_version(Connection(file, folder, mode), kMigrations.size());
      break;
    } catch (const sqlite::SqliteError& failure) {
      if (attempt == kAttempts) throw;
      undo_what_was_begun(folder, failure);
    }
  Connection connection(file, folder, mode);
  const std::int64_t version = checked_version(connection, kMigrations.size());
  if (version < static_cast<std::int64_t>(kMigrations.size())) {
    refuse_other_schema(connection,
                        std::span(kMigrations).first(static_cast<std::size_t>(version)));
    throw StoreError(
        version == 0
            ? fmt::format("the store {} is empty; 'acid run RECIPE --store {}' fills it", folder,
                          folder)
            : fmt::format("the store {} was made by an older acid; 'acid doctor --store {} "
                          "--repair' brings it up to date",
                          folder, folder));
  }
  refuse_other_schema(connection, kMigrations, kSchemaDigest);
  return connection;
}

void bring_copy_up_to_date(const std::string& folder) {
  std::int64_t version = 0;
  {
    const Connection copy(database_file(folder), folder, Connection::Mode::read);
    version = checked_version(copy, kMigrations.size());
  }
  if (version == static_cast<std::int64_t>(kMigrations.size())) return;
  if (version < kSealsSince)
    throw StoreError(
        fmt::format("the store has schema {}, which has no seals of what runs left behind, so that "
                    "it cannot be checked: ask its author for one of a newer acid",
                    version));
  const Store brought(folder, Store::Access::write);
}

WritingConnection::WritingConnection(const std::string& folder, Durability durability)
    : folder_(folder),
      connection_(open_and_set_up(folder)),
      is_shared_(is_shared_among_hosts(folder)),
      durability_(durability) {
  set(durability);
  sqlite3_wal_hook(connection_.handle(), checkpoint_when_long, &folder_);
}

WritingConnection::Durability WritingConnection::set(Durability durability) {
  const bool batched = durability == Durability::batched && !is_shared_;
  connection_.execute(fmt::format("PRAGMA synchronous = {}", batched ? "NORMAL" : "FULL"));
  return std::exchange(durability_, durability);
}

CommitsAs::~CommitsAs() {
  try {
    connection_.set(usual_);
  } catch (const StoreError&) {  // what comes next on the connection meets the cause, too
  }
}

WritingConnection::~WritingConnection() {
  // Leaves one plain file, unless another process uses the store; that one does it later.
  const FolderLock lock(folder_, FolderLock::Wait::no);
  if (!lock.held()) return;
  sqlite3_busy_timeout(connection_.handle(), 0);
  sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                            nullptr);
}

}  // namespace acid
