#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "engine/base/error.hpp"
#include "store/prepared_statements.hpp"

struct sqlite3;
struct sqlite3_value;

/// A small owner of SQLite's C handles, for this folder only. Objects of one connection belong to
/// one thread at a time. Every failure is a SqliteError that names the store and the remedy.
namespace acid::sqlite {

/// What the user can do about a damaged database.
inline constexpr const char* kSaveWhatCanBeRead =
    "copy the folder, then save what can be read with \"sqlite3 store.db .recover | sqlite3 "
    "recovered.db\"";

class SqliteError : public StoreError {
 public:
  SqliteError(const std::string& message, int code) : StoreError(message), code_(code) {}
  int code() const { return code_; }  // SQLite's primary result code
  /// Another process holds the lock: trying again later can succeed.
  bool locked() const;
  /// No room is left. What the transaction had written is certainly undone.
  bool full() const;

 private:
  int code_;
};

/// The file of a connection is no longer the one that its path names: it was removed, moved or
/// replaced. Nothing more may be written, since it would be lost.
class StoreGone : public StoreError {
 public:
  using StoreError::StoreError;
};

class Connection {
 public:
  enum class Mode {
    read,           // the file must exist
    read_and_undo,  // as read; undoes what a writer had begun that was killed meanwhile, as readers
                    // of a database without a write-ahead log must, if the file can be written
    immutable,      // as read, where nothing can write: no locks, no files beside it
    write,          // created when absent
  };
  /// `place` is what messages call the store. Waits for locks as long as kBusySeconds. Never
  /// checkpoints a write-ahead log of its own accord, not even when closed.
  Connection(const std::string& file, std::string place, Mode mode);

  static constexpr int kBusySeconds = 60;
  void set_busy_timeout(double seconds);

  /// Runs a script of statements and discards their rows.
  void execute(const std::string& script) const;
  std::int64_t pragma(std::string_view name) const;  // the value must be a number
  std::int64_t changes() const;                      // rows changed by the last statement
  std::int64_t last_insert_id() const;               // of the last INSERT

  /// Throws StoreGone unless the path still names the file that was opened. Any thread. Every
  /// Transaction that writes begins with this check.
  void refuse_if_gone() const;
  /// The path of the open file now; empty when it has no name any more, or none that can be seen.
  std::string whereabouts() const;

  sqlite3* handle() const { return handle_.get(); }
  const std::string& place() const { return place_; }
  /// Throws the SqliteError that the connection's last failure means.
  [[noreturn]] void fail(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Identity {
    std::uint64_t device = 0, inode = 0;
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> identity_of(const std::string& path);

  std::string file_, place_;
  double busy_seconds_ = kBusySeconds;
  std::unique_ptr<sqlite3, Close> handle_;
  std::optional<Identity> opened_;  // absent: not a file
  friend class Statement;
  std::shared_ptr<PreparedStatements> prepared_ = std::make_shared<PreparedStatements>();
};

/// A prepared statement. Parameters count from 1, columns from 0. The connection must outlive it.
class Statement {
 public:
  enum class After { keep, finalize };
  /// `after`: whether the connection keeps what was prepared for the next statement of this text. A
  /// PRAGMA is never kept: SQLite may find its value when it prepares it.
  Statement(const Connection& connection, std::string_view sql, After after = After::keep);

  /// Binds all parameters in order, starting the statement afresh. NaN and nullopt become NULL.
  template <class... Values>
  Statement& bind(const Values&... values) {
    reset();
    return bind_from(1, values...);
  }
  /// Binds some of the parameters, in order from `first` on, and leaves the others as they are. The
  /// statement must not be under way.
  template <class... Values>
  Statement& bind_from(int first, const Values&... values) {
    int index = first;
    (bind_one(index++, values), ...);
    return *this;
  }
  /// Binds the columns of the row that another statement is at, in order, as they are.
  Statement& bind_row(const Statement& row);
  /// Advances to the next row; false after the last one.
  bool step();
  /// Runs a statement that yields no rows, and leaves it ready for the next bind().
  void run();
  /// Ends a statement whose rows are not all wanted, releasing its locks.
  void reset();

  std::int64_t integer(int column) const;
  /// An integer column whose value acid writes within [least, most]. A value outside was altered:
  /// then throws a StoreError that says which column of which `row`, such as "run 1a2b".
  std::int64_t integer(int column, std::int64_t least, std::int64_t most,
                       std::string_view row) const;
  /// Throws the StoreError for a value that acid does not write: "workers of run 1a2b is -3".
  [[noreturn]] void refuse(int column, std::string_view row, std::string_view value) const;
  double real(int column) const;  // NULL reads as NaN
  std::optional<double> optional_real(int column) const;
  std::string text(int column) const;  // NULL reads as empty
  /// The bytes of a BLOB, valid until the next row. NULL reads as empty.
  std::span<const std::byte> bytes(int column) const;
  bool is_null(int column) const;
  /// Appends the columns of the row from `first` on, as they are stored, so that different rows
  /// give different bytes.
  void append_row(std::string& bytes, int first = 0) const;

 private:
  struct Release {
    void operator()(sqlite3_stmt* handle) const;
    std::shared_ptr<PreparedStatements> kept_by;  // null: nothing keeps it
  };
  void check(int code) const;
  void bind_integer(int index, std::int64_t value);
  void bind_real(int index, double value);
  void bind_text(int index, std::string_view value);
  void bind_bytes(int index, std::span<const std::byte> value);
  void bind_null(int index);

  template <class T>
  void bind_one(int index, const T& value) {
    if constexpr (std::integral<T>) {
      bind_integer(index, static_cast<std::int64_t>(value));
    } else if constexpr (std::floating_point<T>) {
      bind_real(index, value);
    } else if constexpr (std::same_as<T, std::nullopt_t>) {
      bind_null(index);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      bind_text(index, value);
    } else if constexpr (std::convertible_to<const T&, std::span<const std::byte>>) {
      bind_bytes(index, value);
    } else {  // std::optional
      if (value) {
        bind_one(index, *value);
      } else {
        bind_null(index);
      }
    }
  }

  const Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Release> handle_;
};

/// INSERT INTO a table with many rows per statement, which takes two thirds of the time of one row
/// per statement.
class BulkInsert {
 public:
  /// The place of a row: call it with the values of its columns, in order, once.
  class Row {
   public:
    Row(Statement& statement, int first) : statement_(statement), first_(first) {}
    template <class... Values>
    void operator()(const Values&... values) const {
      statement_.bind_from(first_, values...);
    }

   private:
    Statement& statement_;
    int first_;  // parameter
  };
  BulkInsert(const Connection& connection, std::string_view table, int columns);

  /// Inserts `count` rows; `each(k, row)` gives number k to `row`.
  template <class Each>
  void run(std::size_t count, const Each& each) {
    many_.reset();  // after a failure the statement may be under way
    one_.reset();
    std::size_t k = 0;
    while (k + kRowsAtOnce <= count) {
      for (std::size_t r = 0; r < kRowsAtOnce; ++r, ++k)
        each(k, Row(many_, static_cast<int>(r) * columns_ + 1));
      many_.run();
    }
    for (; k < count; ++k) {
      each(k, Row(one_, 1));
      one_.run();
    }
  }

 private:
  static constexpr std::size_t kRowsAtOnce = 32;
  const int columns_;
  Statement many_, one_;
};

/// Calls a function for each row of a query, in two thirds of the time that stepping through a
/// Statement takes: for scans of millions of rows. SQLite aggregates the rows with a function of
/// this class. The order is not promised; rows of a range of a primary key come by that key.
class RowScan {
 public:
  /// A row; valid during the call.
  class Row {
   public:
    explicit Row(sqlite3_value** values) : values_(values) {}
    std::int64_t integer(int column) const;
    double real(int column) const;  // NULL reads as NaN

   private:
    sqlite3_value** values_;
  };
  /// SELECT `columns` FROM …: `from` is the rest, with its parameters.
  RowScan(const Connection& connection, std::string_view columns, std::string_view from);
  ~RowScan();
  RowScan(const RowScan&) = delete;
  RowScan& operator=(const RowScan&) = delete;

  /// Passes on what `each` throws.
  template <class... Values>
  void run(std::function<void(const Row&)> each, const Values&... values) {
    statement().bind(values...);
    run_bound(std::move(each));
  }

 private:
  struct State;
  Statement& statement();
  void run_bound(std::function<void(const Row&)> each);
  const std::unique_ptr<State> state_;
};

/// Rolled back unless committed.
class Transaction {
 public:
  enum class Kind {
    /// One consistent view for several statements.
    read,
    /// Takes the write lock at once: a transaction that starts by reading and only then asks for
    /// the lock fails under contention however long it is ready to wait.
    write,
  };
  Transaction(const Connection& connection, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Connection& connection_;
  bool open_ = true;
};

/// Returns the result of `work`, which uses its own transactions. Calls it again for as long as it
/// fails only because another process holds the lock, however long that is. For records that must
/// not be lost.
template <class Work>
auto once_unlocked(const Work& work) {
  for (;;) {
    try {
      return work();
    } catch (const SqliteError& error) {
      if (!error.locked()) throw;
    }
    // Each try sleeps in SQLite until its busy timeout; this sleep is for when SQLite gives up at
    // once.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace acid::sqlite
