// The class that owns SQLite's handles.
#include "store/sqlite.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid::sqlite {
namespace {

struct Database {
  test::ScratchFolder temp;
  std::string file = temp.path() + "/100% odd? #name.db";
  Connection connection{file, "here", Connection::Mode::write};
};

TEST_CASE("values of every type are bound and read back") {
  Database database;
  CHECK(std::filesystem::exists(database.file));
  Statement select(database.connection, "SELECT ?, ?, ?, ?, ?, ?, ?");
  const std::string with_zero("a\0b", 3);
  select.bind(std::numeric_limits<std::int64_t>::min(), 0.1, with_zero, std::nullopt,
              std::optional<double>(), std::optional<std::string>("x"), std::nan(""));
  REQUIRE(select.step());
  CHECK(select.integer(0) == std::numeric_limits<std::int64_t>::min());
  CHECK(select.real(1) == 0.1);
  CHECK(select.text(2) == with_zero);
  CHECK(select.is_null(3));
  CHECK_FALSE(select.optional_real(4).has_value());
  CHECK(select.text(5) == "x");
  CHECK(std::isnan(select.real(6)));
  CHECK_FALSE(select.step());
  CHECK(select.bind("", std::string_view{}, 0, 0, 0, 0, 0).step());
  CHECK_FALSE(select.is_null(0));
  CHECK_FALSE(select.is_null(1));
}

TEST_CASE("a statement finds nothing of an earlier one of the same text") {
  Database database;
  database.connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)");
  constexpr const char* kText = "SELECT x, ?1 FROM t ORDER BY x";
  {
    Statement first(database.connection, kText);
    REQUIRE(first.bind(7).step());
  }
  Statement second(database.connection, kText), beside(database.connection, kText);
  REQUIRE(second.step());
  CHECK(second.integer(0) == 1);
  CHECK(second.is_null(1));
  CHECK(second.step());
  REQUIRE(beside.bind(8).step());
  CHECK(beside.integer(0) == 1);
  CHECK(second.integer(0) == 2);
}

TEST_CASE("what is kept of statements follows the tables and the settings of the connection") {
  Database database;
  const Connection& connection = database.connection;
  for (const int columns : {1, 2}) {
    connection.execute(columns == 1
                           ? "CREATE TABLE t (a); INSERT INTO t VALUES (1)"
                           : "DROP TABLE t; CREATE TABLE t (b, a); INSERT INTO t VALUES (9, 2)");
    Statement select(connection, "SELECT a FROM t");
    REQUIRE(select.step());
    CHECK(select.integer(0) == columns);
  }
  for (const int level : {1, 2}) {
    connection.execute("PRAGMA synchronous = " + std::to_string(level));
    CHECK(connection.pragma("synchronous") == level);
  }
  // More texts than are kept.
  for (int k = 0; k < 1000; ++k) {
    Statement select(connection, "SELECT " + std::to_string(k));
    REQUIRE(select.step());
    CHECK(select.integer(0) == k);
  }
}

TEST_CASE("a transaction that is not committed leaves nothing") {
  Database database;
  const Connection& connection = database.connection;
  connection.execute("CREATE TABLE t (x)");
  {
    const Transaction transaction(connection, Transaction::Kind::write);
    connection.execute("INSERT INTO t VALUES (1)");
  }
  {
    Transaction transaction(connection, Transaction::Kind::write);
    connection.execute("INSERT INTO t VALUES (2)");
    transaction.commit();
  }
  Statement rows(connection, "SELECT count(*), max(x) FROM t");
  REQUIRE(rows.step());
  CHECK(rows.integer(0) == 1);
  CHECK(rows.integer(1) == 2);
}

/// A table whose column a is unique and starts at 1, and an insertion of many rows into it.
struct Bulk : Database {
  void insert(int first, int count) {
    into.run(static_cast<std::size_t>(count), [&](std::size_t k, const BulkInsert::Row& row) {
      const int a = first + static_cast<int>(k);
      if (a == fails_at) throw std::runtime_error("no such row");
      row(a, 0.5 * a, std::to_string(a));
    });
  }
  /// The number of rows. Each must have the values of its own number.
  std::int64_t rows() {
    Statement sums(connection, "SELECT count(*), sum(b = 0.5 * a AND c = a || '') FROM t");
    REQUIRE(sums.step());
    CHECK(sums.integer(0) == sums.integer(1));
    return sums.integer(0);
  }
  int fails_at = 0;
  BulkInsert into = make_into();

 private:
  BulkInsert make_into() {
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b, c) WITHOUT ROWID");
    return BulkInsert(connection, "t", 3);
  }
};

TEST_CASE("any number of rows is inserted in bulk, each once and whole") {
  Bulk bulk;
  int first = 1;
  for (const int count : {0, 1, 31, 32, 33, 0, 63, 64, 65, 1}) {
    bulk.insert(first, count);
    first += count;
    CHECK(bulk.rows() == first - 1);
  }
}

TEST_CASE("a bulk insertion that fails somewhere leaves whole statements, and can be used again") {
  for (const int failing : {1, 32, 33, 40, 64, 65, 70}) {
    INFO("row " << failing << " of 70");
    // 32 at a time, and the rest one after the other.
    const int before = failing <= 64 ? (failing - 1) / 32 * 32 : failing - 1;
    Bulk stopped;
    stopped.fails_at = failing;
    CHECK_THROWS_WITH(stopped.insert(1, 70), "no such row");
    CHECK(stopped.rows() == before);
    stopped.fails_at = 0;
    stopped.insert(before + 1, 70);
    CHECK(stopped.rows() == before + 70);

    Bulk refused;
    refused.insert(failing, 1);
    CHECK_THROWS_AS(refused.insert(1, 70), SqliteError);
    CHECK(refused.rows() == before + 1);
    refused.insert(101, 70);
    CHECK(refused.rows() == before + 71);
  }
}

TEST_CASE("failures say where, why and what to do") {
  Database database;
  CHECK_THROWS_WITH(database.connection.execute("SELEKT"),
                    ContainsSubstring("here") && ContainsSubstring("SELEKT"));
  CHECK_THROWS_AS(Connection(database.temp.path() + "/none/x.db", "there", Connection::Mode::read),
                  StoreError);
}

TEST_CASE("a store locked for longer than the busy timeout is an error that can be told apart") {
  Database database;
  database.connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
  Connection other(database.file, "here", Connection::Mode::write);
  other.set_busy_timeout(0.05);
  const Transaction lock(database.connection, Transaction::Kind::write);
  try {
    const Transaction second(other, Transaction::Kind::write);
    FAIL("the lock was given twice");
  } catch (const SqliteError& error) {
    CHECK(error.locked());
    CHECK(error.code() == 5);
    CHECK(static_cast<const Error&>(error).code() == Exit::store);
    CHECK_THAT(error.what(), ContainsSubstring("locked by another process for 0.05 s"));
  }
}

}  // namespace
}  // namespace acid::sqlite
