// Opening, creating, migrating, and refusing what must not be touched.
#include "store/open.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <fstream>
#include <functional>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;
namespace fs = std::filesystem;

std::string error_of(const std::string& folder, Store::Access access) {
  try {
    const Store store(folder, access);
    return "no error";
  } catch (const StoreError& error) {
    CHECK(error.code() == Exit::store);
    CHECK_THAT(error.what(), Catch::Contains(folder));
    return error.what();
  }
}

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::int64_t pragma(const sqlite::Connection& connection, const std::string& name) {
  sqlite::Statement statement(connection, "PRAGMA " + name);
  statement.step();
  return statement.integer(0);
}

TEST_CASE("reading a store that does not exist creates nothing") {
  TempFolder temp;
  CHECK_THAT(error_of(temp.store(), Store::Access::read), Catch::Contains("acid run"));
  CHECK_FALSE(fs::exists(temp.store()));
  fs::create_directory(temp.store());
  CHECK_THAT(error_of(temp.store(), Store::Access::read), Catch::Contains("there is no store"));
  CHECK(fs::is_empty(temp.store()));
}

TEST_CASE("a new store has the settings that keep it safe") {
  TempFolder temp;
  const Store store(temp.store() + "/deep/er", Store::Access::write);
  const sqlite::Connection& connection = store.impl().connection();
  CHECK(fs::is_directory(store.folder() + "/checkpoints"));
  CHECK(pragma(connection, "application_id") == kApplicationId);
  CHECK(pragma(connection, "user_version") == static_cast<std::int64_t>(migrations().size()));
  CHECK(pragma(connection, "page_size") == 8192);
  CHECK(pragma(connection, "foreign_keys") == 1);
  CHECK(pragma(connection, "trusted_schema") == 0);
  CHECK(pragma(connection, "cell_size_check") == 1);
  CHECK(pragma(connection, "synchronous") == 2);
  CHECK(pragma(connection, "wal_autocheckpoint") == 0);  // we do it ourselves, under a lock
  CHECK(pragma(connection, "busy_timeout") == 60000);
  sqlite::Statement journal(connection, "PRAGMA journal_mode");
  journal.step();
  CHECK(journal.text(0) == "wal");
  sqlite::Statement loose(connection,
                          "SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0"
                          " AND name NOT LIKE 'sqlite_%'");
  CHECK_FALSE(loose.step());
}

TEST_CASE("the writer's commits are batched, a reader never checkpoints or writes") {
  TempFolder temp;
  {
    WritingConnection writer(temp.store(), WritingConnection::Durability::batched);
    CHECK(pragma(writer.get(), "synchronous") == 1);
    writer.get().execute("INSERT INTO experiments VALUES (1, 'a', '', '', '', '', '', '', '')");
    const sqlite::Connection reader = open_for_reading(temp.store());
    CHECK(pragma(reader, "wal_autocheckpoint") == 0);
    CHECK_THROWS_AS(reader.execute("DELETE FROM experiments"), StoreError);
    CHECK(fs::file_size(temp.store() + "/store.db-wal") > 0);
  }
  CHECK(fs::file_size(temp.store() + "/store.db-wal") == 0);
}

TEST_CASE("the write-ahead log does not grow without bound") {
  TempFolder temp;
  WritingConnection writer(temp.store(), WritingConnection::Durability::batched);
  const std::string blob(100'000, 'x');
  for (int i = 0; i < 1000; ++i)
    sqlite::Statement(writer.get(),
                      "INSERT OR REPLACE INTO experiments VALUES (?, ?, ?, '', '', '',"
                      " '', '', '')")
        .bind(i % 10, std::to_string(i % 10), blob)
        .run();
  CHECK(fs::file_size(temp.store() + "/store.db-wal") < 30'000'000);
}

TEST_CASE("a store made by a newer acid is refused and not touched") {
  TempFolder temp;
  {
    Store(temp.store(), Store::Access::write)
        .impl()
        .connection()
        .execute("PRAGMA user_version = 99");
  }
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    const std::string before = bytes_of(temp.store() + "/store.db");
    CHECK_THAT(error_of(temp.store(), access), Catch::Contains("newer acid") &&
                                                   Catch::Contains("99") &&
                                                   Catch::Contains("Update acid"));
    CHECK(bytes_of(temp.store() + "/store.db") == before);
  }
}

TEST_CASE("another program's database is refused and not touched") {
  TempFolder temp;
  fs::create_directory(temp.store());
  {
    const sqlite::Connection other(temp.store() + "/store.db", "", sqlite::Connection::Mode::write);
    other.execute("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)");
  }
  const std::string before = bytes_of(temp.store() + "/store.db");
  for (const auto access : {Store::Access::read, Store::Access::write})
    CHECK_THAT(error_of(temp.store(), access), Catch::Contains("another program"));
  CHECK(bytes_of(temp.store() + "/store.db") == before);
}

TEST_CASE("a file that is no database is refused and not touched") {
  TempFolder temp;
  fs::create_directory(temp.store());
  std::ofstream(temp.store() + "/store.db") << std::string(10000, 'x');
  for (const auto access : {Store::Access::read, Store::Access::write})
    CHECK_THAT(error_of(temp.store(), access), Catch::Contains("not a store of acid"));
  CHECK(bytes_of(temp.store() + "/store.db") == std::string(10000, 'x'));
}

TEST_CASE("an empty store.db, left by a process killed while creating it, is filled") {
  TempFolder temp;
  fs::create_directory(temp.store());
  std::ofstream(temp.store() + "/store.db").flush();
  CHECK_THAT(error_of(temp.store(), Store::Access::read), Catch::Contains("is empty"));
  CHECK(list_runs(Store(temp.store(), Store::Access::write)).empty());
}

TEST_CASE("a damaged store is reported as damaged") {
  TempFolder temp;
  std::vector<RunRecord> runs;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) runs.push_back(make_run(seed));
  make_store(temp.store(), runs);
  {
    std::fstream file(temp.store() + "/store.db", std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamoff>(fs::file_size(temp.store() + "/store.db"));
    file.seekp(8192);
    for (std::streamoff at = 8192; at < size; ++at) file.put('\x5a');
  }
  CHECK_THROWS_WITH(list_runs(Store(temp.store(), Store::Access::read)),
                    Catch::Contains("is damaged") && Catch::Contains(".recover"));
}

TEST_CASE("a truncated store is reported as damaged") {
  TempFolder temp;
  make_store(temp.store(), {make_run(1)});
  fs::resize_file(temp.store() + "/store.db", 3 * 8192);
  CHECK_THROWS_AS(list_runs(Store(temp.store(), Store::Access::read)), StoreError);
}

TEST_CASE("a folder that cannot be made is reported") {
  TempFolder temp;
  std::ofstream(temp.store()) << "a file";
  CHECK_THAT(error_of(temp.store(), Store::Access::write), Catch::Contains("cannot create"));
}

TEST_CASE("migrations run in order, once, and together or not at all") {
  TempFolder temp;
  const sqlite::Connection connection(temp.path() + "/x.db", "x", sqlite::Connection::Mode::write);
  const std::array<std::string_view, 2> two{"CREATE TABLE t (a)",
                                            "ALTER TABLE t ADD b; INSERT INTO t VALUES (1, 2)"};
  migrate(connection, std::span(two).first(1));
  CHECK(pragma(connection, "user_version") == 1);
  migrate(connection, two);
  migrate(connection, two);
  CHECK(pragma(connection, "user_version") == 2);
  sqlite::Statement rows(connection, "SELECT count(*), sum(b) FROM t");
  rows.step();
  CHECK(rows.integer(0) == 1);
  CHECK(rows.integer(1) == 2);
  rows.reset();

  const std::array<std::string_view, 4> broken{two[0], two[1], "CREATE TABLE u (a)", "NONSENSE"};
  CHECK_THROWS_AS(migrate(connection, broken), StoreError);
  CHECK(pragma(connection, "user_version") == 2);
  sqlite::Statement tables(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'u'");
  tables.step();
  CHECK(tables.integer(0) == 0);
}

TEST_CASE("a store goes on working after its folder has moved") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  {
    Store store = make_store(temp.store(), {run});
    store.end_attempt(begin(store, run.id), ended_as(RunState::finished));
  }
  const std::string elsewhere = temp.path() + "/else where";
  fs::rename(temp.store(), elsewhere);
  CHECK(list_runs(Store(elsewhere, Store::Access::read)).at(0).state == RunState::finished);
  Store store(elsewhere, Store::Access::write);
  begin(store, run.id);
  CHECK(list_runs(store).at(0).state == RunState::running);
  CHECK_FALSE(fs::exists(temp.store()));
}

/// Runs `check` as a user without rights (tests often run as root, who may do everything).
bool as_nobody(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(3);
    bool good = false;
    try {
      good = check();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("a store in a folder that cannot be written can be read, and says why not more") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  make_store(temp.store(), {run});
  chmod(temp.path().c_str(), 0755);
  const auto reads = [&] {
    return list_runs(Store(temp.store(), Store::Access::read)).size() == 1;
  };
  const auto refuses = [&] {
    try {
      Store store(temp.store(), Store::Access::write);
      store.add_experiment(make_experiment("x"), {});
    } catch (const StoreError& error) {
      return std::string(error.what()).find("may write to the folder") != std::string::npos;
    }
    return false;
  };
  for (const auto& file : fs::directory_iterator(temp.store())) {
    if (file.is_regular_file()) chmod(file.path().c_str(), 0444);
  }
  chmod(temp.store().c_str(), 0555);
  CHECK(as_nobody(reads));
  CHECK(as_nobody(refuses));
  // The database alone, as somebody would copy it to an archive.
  fs::remove(temp.store() + "/store.db-wal");
  fs::remove(temp.store() + "/store.db-shm");
  CHECK(as_nobody(reads));
  chmod(temp.store().c_str(), 0755);
}

TEST_CASE("network file systems are recognised") {
  for (const long type : {0x6969L, 0x517BL, 0xFF534D42L, 0x01021997L, 0x0BD00BD0L, 0x65735546L})
    CHECK(is_network_file_system(type));
  // A type with the top bit set, as a 32-bit system would give it.
  CHECK(is_network_file_system(static_cast<std::int32_t>(0xFF534D42)));
  for (const long type : {0xEF53L, 0x58465342L, 0x9123683EL, 0x01021994L, 0x794C7630L})
    CHECK_FALSE(is_network_file_system(type));
}

}  // namespace
}  // namespace acid
