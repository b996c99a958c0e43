#include "store/sqlite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <exception>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

namespace acid::sqlite {
namespace {

// "INSERT INTO points VALUES (?, ?), (?, ?)": 2 rows of 2 columns.
std::string insert_statement(std::string_view table, std::size_t rows, int columns) {
  const std::vector<std::string> row(static_cast<std::size_t>(columns), "?");
  const std::vector<std::string> all(rows, fmt::format("({})", fmt::join(row, ", ")));
  return fmt::format("INSERT INTO {} VALUES {}", table, fmt::join(all, ", "));
}

// Says in a sentence what a failure means to the user, and the remedy.
std::string explain(int code, const std::string& place, double busy_seconds,
                    const std::string& detail) {
  switch (code) {
    case SQLITE_BUSY:
      return fmt::format(
          "the store {} stayed locked by another process for {:g} s; find it with 'fuser "
          "{}/store.db', wait until it is done, and try again",
          place, busy_seconds, place);
    case SQLITE_FULL:
      return fmt::format(
          "cannot write to the store {}: the disk is full. What was committed is safe; free some "
          "space and try again",
          place);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return fmt::format(
          "cannot open the store {} as needed ({}); check that you may write to the folder and to "
          "store.db in it, or choose another folder with --store",
          place, detail);
    case SQLITE_CORRUPT:
      return fmt::format("the store {} is damaged ({}); nothing was changed. To mend it, {}", place,
                         detail, kSaveWhatCanBeRead);
    case SQLITE_NOTADB:
      return fmt::format(
          "{}/store.db is not a store of acid, or its first page is damaged; nothing was changed. "
          "Choose another folder with --store",
          place);
    case SQLITE_CONSTRAINT:
      return fmt::format(
          "rows of the store {} contradict each other ({}): the database was altered outside acid, "
          "and nothing was changed; 'acid doctor --store {}' looks for more damage",
          place, detail, place);
    case SQLITE_NOMEM:
      return fmt::format("out of memory at the store {}; give acid more and try again", place);
    case SQLITE_IOERR:
      return fmt::format(
          "reading or writing the store {} failed ({}); check the disk and its free space, then "
          "try again",
          place, detail);
    default:
      return fmt::format(
          "unexpected failure of the store {}: {}; if 'sqlite3 store.db \"PRAGMA "
          "integrity_check\"' says ok, this is a bug in acid",
          place, detail);
  }
}

}  // namespace

bool SqliteError::locked() const { return code_ == SQLITE_BUSY; }

bool SqliteError::full() const { return code_ == SQLITE_FULL; }

void Connection::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Connection::Connection(const std::string& file, std::string place, Mode mode)
    : file_(file), place_(std::move(place)) {
  // The path is a URI, so that a file on a read-only medium can be called immutable.
  std::string uri = "file:";
  for (const char c : file)
    if (c == '?' || c == '#' || c == '%')
      uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
    else
      uri += c;
  if (mode == Mode::immutable) uri += "?immutable=1";
  const int access = mode == Mode::write           ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                     : mode == Mode::read_and_undo ? SQLITE_OPEN_READWRITE
                                                   : SQLITE_OPEN_READONLY;
  namespace fs = std::filesystem;
  std::error_code none;  // SQLite would wait for ever to open a pipe
  if (file != ":memory:" && fs::exists(file, none) && !fs::is_regular_file(file, none))
    throw StoreError(fmt::format("{} is no file; choose another folder with --store", file));
  sqlite3* handle = nullptr;
  // NOMUTEX: a connection is used by one thread at a time.
  const int code = sqlite3_open_v2(uri.c_str(), &handle,
                                   access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
  // SQLite silently opens a file that it may not write for reading only, and would fail much later.
  if (mode == Mode::write && sqlite3_db_readonly(handle, "main") == 1) fail(SQLITE_READONLY);
  opened_ = identity_of(file);
  sqlite3_extended_result_codes(handle, 1);
  set_busy_timeout(kBusySeconds);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // Otherwise a name in double quotes that nothing has would be a text.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  execute(
      "PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON;"
      "PRAGMA temp_store = MEMORY;");
  if (mode == Mode::read_and_undo) execute("PRAGMA query_only = ON");
}

void Connection::set_busy_timeout(double seconds) {
  busy_seconds_ = seconds;
  sqlite3_busy_timeout(handle(), static_cast<int>(seconds * 1000));
}

std::optional<Connection::Identity> Connection::identity_of(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return std::nullopt;
  return Identity{facts.st_dev, facts.st_ino};
}

void Connection::refuse_if_gone() const {
  const auto now = identity_of(file_);
  if (now == opened_) return;
  throw StoreGone(
      fmt::format("the store {} was {} while it was in use, so nothing more is recorded", place_,
                  now ? "replaced" : "removed or moved"));
}

std::string Connection::whereabouts() const {
  // Looks at the files that this process has open: opening the file again and closing it would give
  // up SQLite's locks on it.
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    struct stat facts {};
    if (stat(entry.path().c_str(), &facts) != 0 || facts.st_nlink == 0) continue;
    if (opened_ != Identity{facts.st_dev, facts.st_ino}) continue;
    const std::string path = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (identity_of(path) == opened_) return path;
  }
  return {};
}

void Connection::execute(const std::string& script) const {
  const int code = sqlite3_exec(handle(), script.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Connection::pragma(std::string_view name) const {
  Statement statement(*this, fmt::format("PRAGMA {}", name));
  statement.step();
  return statement.integer(0);
}

std::int64_t Connection::changes() const { return sqlite3_changes64(handle()); }

std::int64_t Connection::last_insert_id() const { return sqlite3_last_insert_rowid(handle()); }

void Connection::fail(int code) const {
  const int primary = code & 0xff;
  const bool remembered = handle() != nullptr && (sqlite3_errcode(handle()) & 0xff) == primary;
  const std::string detail = remembered ? sqlite3_errmsg(handle()) : sqlite3_errstr(code);
  throw SqliteError(explain(primary, place_, busy_seconds_, detail), primary);
}

void Statement::Release::operator()(sqlite3_stmt* handle) const {
  if (kept_by)
    kept_by->keep(handle);
  else
    sqlite3_finalize(handle);
}

Statement::Statement(const Connection& connection, std::string_view sql, After after)
    : connection_(&connection),
      handle_(nullptr, {after == After::keep && !sql.starts_with("PRAGMA") ? connection.prepared_
                                                                           : nullptr}) {
  sqlite3_stmt* handle = nullptr;
  if (handle_.get_deleter().kept_by) handle = connection.prepared_->take(sql);
  int code = SQLITE_OK;
  if (handle == nullptr)
    code = sqlite3_prepare_v2(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                              &handle, nullptr);
  handle_.reset(handle);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) connection_->fail(code);
}

Statement& Statement::bind_row(const Statement& row) {
  reset();
  for (int i = 0; i < sqlite3_column_count(row.handle_.get()); ++i)
    check(sqlite3_bind_value(handle_.get(), i + 1, sqlite3_column_value(row.handle_.get(), i)));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  connection_->fail(code);
}

void Statement::run() {
  step();
  reset();
}

// The result repeats a failure that step() has reported already.
void Statement::reset() { sqlite3_reset(handle_.get()); }

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

std::int64_t Statement::integer(int column, std::int64_t least, std::int64_t most,
                                std::string_view row) const {
  const std::int64_t value = integer(column);
  if (value < least || value > most) refuse(column, row, std::to_string(value));
  return value;
}

void Statement::refuse(int column, std::string_view row, std::string_view value) const {
  throw StoreError(
      fmt::format("the store {} is damaged: {} of {} is {}, not as acid writes it; 'acid "
                  "doctor --store {}' looks for more damage",
                  connection_->place(), sqlite3_column_name(handle_.get(), column), row, value,
                  connection_->place()));
}

double Statement::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN()
                         : sqlite3_column_double(handle_.get(), column);
}

std::optional<double> Statement::optional_real(int column) const {
  if (is_null(column)) return std::nullopt;
  return sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(handle_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::span<const std::byte> Statement::bytes(int column) const {
  const void* bytes = sqlite3_column_blob(handle_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const std::byte*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

void Statement::append_row(std::string& bytes, int first) const {
  const auto append = [&](char type, const void* data, std::size_t size) {
    bytes += type;
    const auto length = static_cast<std::uint64_t>(size);
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    if (size > 0) bytes.append(static_cast<const char*>(data), size);
  };
  const int columns = sqlite3_column_count(handle_.get());
  for (int i = first; i < columns; ++i) {
    const int type = sqlite3_column_type(handle_.get(), i);
    const char mark = static_cast<char>('0' + type);
    if (type == SQLITE_INTEGER) {
      const std::int64_t value = integer(i);
      append(mark, &value, sizeof value);
    } else if (type == SQLITE_FLOAT) {
      const double value = real(i);
      append(mark, &value, sizeof value);
    } else {  // text, bytes, or nothing
      const std::span<const std::byte> value = this->bytes(i);
      append(mark, value.data(), value.size());
    }
  }
  bytes += ';';
}

void Statement::bind_integer(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), index, value));
}

void Statement::bind_real(int index, double value) {
  check(sqlite3_bind_double(handle_.get(), index, value));
}

void Statement::bind_text(int index, std::string_view value) {
  // An empty view may have no address, which SQLite would take for NULL.
  check(sqlite3_bind_text64(handle_.get(), index, value.empty() ? "" : value.data(), value.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind_bytes(int index, std::span<const std::byte> value) {
  const void* data = value.empty() ? "" : static_cast<const void*>(value.data());
  check(sqlite3_bind_blob64(handle_.get(), index, data, value.size(), SQLITE_TRANSIENT));
}

void Statement::bind_null(int index) { check(sqlite3_bind_null(handle_.get(), index)); }

BulkInsert::BulkInsert(const Connection& connection, std::string_view table, int columns)
    : columns_(columns),
      many_(connection, insert_statement(table, kRowsAtOnce, columns)),
      one_(connection, insert_statement(table, 1, columns)) {}

std::int64_t RowScan::Row::integer(int column) const {
  return sqlite3_value_int64(values_[column]);
}

double RowScan::Row::real(int column) const {
  sqlite3_value* const value = values_[column];
  return sqlite3_value_type(value) == SQLITE_NULL ? std::numeric_limits<double>::quiet_NaN()
                                                  : sqlite3_value_double(value);
}

struct RowScan::State {
  explicit State(const Connection& its_connection) : connection(its_connection) {}

  const Connection& connection;
  std::string function;  // SQLite's name of the function for this scan
  std::optional<Statement> statement;
  std::function<void(const Row&)> each;
  std::exception_ptr failure;  // thrown by `each`: no exception may pass through SQLite

  static void step(sqlite3_context* context, int, sqlite3_value** values) {
    State& state = *static_cast<State*>(sqlite3_user_data(context));
    try {
      state.each(Row(values));
    } catch (...) {
      state.failure = std::current_exception();
      sqlite3_result_error(context, "stopped", -1);
    }
  }
  static void end(sqlite3_context*) {}
};

RowScan::RowScan(const Connection& connection, std::string_view columns, std::string_view from)
    : state_(std::make_unique<State>(connection)) {
  state_->function = fmt::format("each_row_{}", fmt::ptr(state_.get()));
  const int code = sqlite3_create_function_v2(connection.handle(), state_->function.c_str(), -1,
                                              SQLITE_UTF8 | SQLITE_DIRECTONLY, state_.get(),
                                              nullptr, State::step, State::end, nullptr);
  if (code != SQLITE_OK) connection.fail(code);
  state_->statement.emplace(connection,
                            fmt::format("SELECT {}({}) {}", state_->function, columns, from),
                            Statement::After::finalize);
}

RowScan::~RowScan() {
  state_->statement.reset();
  sqlite3_create_function_v2(state_->connection.handle(), state_->function.c_str(), -1, SQLITE_UTF8,
                             nullptr, nullptr, nullptr, nullptr, nullptr);
}

Statement& RowScan::statement() { return *state_->statement; }

void RowScan::run_bound(std::function<void(const Row&)> each) {
  state_->each = std::move(each);
  state_->failure = nullptr;
  try {
    statement().run();
  } catch (const SqliteError&) {
    statement().reset();
    if (state_->failure) std::rethrow_exception(state_->failure);
    throw;
  }
}

Transaction::Transaction(const Connection& connection, Kind kind) : connection_(connection) {
  if (kind == Kind::write) connection.refuse_if_gone();
  connection.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  // After some failures SQLite has rolled back already; then there is nothing left to end.
  if (open_ && sqlite3_get_autocommit(connection_.handle()) == 0)
    sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace acid::sqlite
