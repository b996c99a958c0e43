// Opening, creating, migrating, and refusing what must not be touched.
#include "store/open.hpp"

#include <sys/stat.h>

#include <array>
#include <fstream>
#include <map>

#include "store/hosts.hpp"
#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;
namespace fs = std::filesystem;

TEST_CASE("reading a store that does not exist creates nothing") {
  ScratchFolder temp;
  CHECK_THAT(error_of(temp.store(), Store::Access::read), ContainsSubstring("acid run"));
  CHECK_FALSE(fs::exists(temp.store()));
  fs::create_directory(temp.store());
  CHECK_THAT(error_of(temp.store(), Store::Access::read), ContainsSubstring("there is no store"));
  CHECK(fs::is_empty(temp.store()));
}

TEST_CASE("a new store has the settings that keep it safe") {
  ScratchFolder temp;
  const Store store(temp.store() + "/deep/er", Store::Access::write);
  const sqlite::Connection& connection = store.impl().connection();
  CHECK(fs::is_directory(store.folder() + "/checkpoints"));
  for (const auto& [pragma, value] : std::map<const char*, std::int64_t>{
           {"application_id", kApplicationId},
           {"user_version", std::ssize(migrations())},
           {"page_size", 8192},
           {"foreign_keys", 1},
           {"trusted_schema", 0},
           {"cell_size_check", 1},
           {"synchronous", 2},
           {"wal_autocheckpoint", 0},  // this class does it itself, under a lock
           {"busy_timeout", 60000}})
    CHECK(connection.pragma(pragma) == value);
  CHECK(first_text(store, "PRAGMA journal_mode") == "wal");
  sqlite::Statement loose(connection,
                          "SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0"
                          " AND name NOT LIKE 'sqlite_%'");
  CHECK_FALSE(loose.step());
}

TEST_CASE("the writer's commits are batched, a reader never checkpoints or writes") {
  ScratchFolder temp;
  {
    WritingConnection writer(temp.store(), WritingConnection::Durability::batched);
    CHECK(writer.get().pragma("synchronous") == 1);
    writer.get().execute(
        "INSERT INTO experiments VALUES (1, 'a', '', '', '', '', '', '', '', NULL, NULL, NULL,"
        " NULL)");
    const sqlite::Connection reader = open_for_reading(temp.store());
    CHECK(reader.pragma("wal_autocheckpoint") == 0);
    CHECK_THROWS_AS(reader.execute("DELETE FROM experiments"), StoreError);
    CHECK(fs::file_size(temp.store() + "/store.db-wal") > 0);
  }
  CHECK(fs::file_size(temp.store() + "/store.db-wal") == 0);
}

TEST_CASE("the write-ahead log does not grow without bound") {
  ScratchFolder temp;
  WritingConnection writer(temp.store(), WritingConnection::Durability::batched);
  const std::string blob(100'000, 'x');
  for (int i = 0; i < 1000; ++i)
    sqlite::Statement(writer.get(),
                      "INSERT OR REPLACE INTO experiments VALUES (?, ?, ?, '', '', '',"
                      " '', '', '', NULL, NULL, NULL, NULL)")
        .bind(i % 10, std::to_string(i % 10), blob)
        .run();
  CHECK(fs::file_size(temp.store() + "/store.db-wal") < 30'000'000);
}

TEST_CASE("what is no store of this acid is refused and not touched") {
  const auto newer = [](const std::string& folder) {
    Store(folder, Store::Access::write).impl().connection().execute("PRAGMA user_version = 99");
  };
  const auto of_another_program = [](const std::string& folder) {
    fs::create_directory(folder);
    raw_connection(folder).execute("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)");
  };
  const auto text = [](const std::string& folder) {
    fs::create_directory(folder);
    std::ofstream(folder + "/store.db") << std::string(10000, 'x');
  };
  using Making = std::function<void(const std::string&)>;
  using Words = std::vector<std::string>;
  for (const auto& [make, says] :
       {std::pair<Making, Words>{newer, {"newer acid", "99", "Update acid"}},
        {of_another_program, {"another program"}},
        {text, {"not a store of acid"}}}) {
    ScratchFolder temp;
    make(temp.store());
    for (const auto access : {Store::Access::read, Store::Access::write}) {
      const std::string before = content_of(temp.store() + "/store.db");
      const std::string error = error_of(temp.store(), access);
      for (const std::string& words : says) CHECK_THAT(error, ContainsSubstring(words));
      CHECK(content_of(temp.store() + "/store.db") == before);
    }
  }
}

TEST_CASE("an empty store.db, left by a process killed while creating it, is filled") {
  ScratchFolder temp;
  fs::create_directory(temp.store());
  std::ofstream(temp.store() + "/store.db").flush();
  CHECK_THAT(error_of(temp.store(), Store::Access::read), ContainsSubstring("is empty"));
  CHECK(list_runs(Store(temp.store(), Store::Access::write)).empty());
}

TEST_CASE("a damaged or truncated store, and a folder that cannot be made, are reported") {
  ScratchFolder temp, cut, file;
  std::vector<RunRecord> runs;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) runs.push_back(make_run(seed));
  make_store(temp.store(), runs);
  const std::string database = temp.store() + "/store.db";
  const std::size_t size = fs::file_size(database);
  {
    std::fstream stream(database, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(8192);
    stream << std::string(size - 8192, '\x5a');
  }
  CHECK_THROWS_WITH(list_runs(Store(temp.store(), Store::Access::read)),
                    ContainsSubstring("is damaged") && ContainsSubstring(".recover"));
  make_store(cut.store(), {make_run(1)});
  fs::resize_file(cut.store() + "/store.db", 3 * 8192);
  CHECK_THROWS_AS(list_runs(Store(cut.store(), Store::Access::read)), StoreError);
  std::ofstream(file.store()) << "a file";
  CHECK_THAT(error_of(file.store(), Store::Access::write), ContainsSubstring("cannot create"));
}

TEST_CASE("migrations run in order, once, and together or not at all") {
  ScratchFolder temp;
  const sqlite::Connection connection(temp.path() + "/x.db", "x", sqlite::Connection::Mode::write);
  const std::array<std::string_view, 2> two{"CREATE TABLE t (a)",
                                            "ALTER TABLE t ADD b; INSERT INTO t VALUES (1, 2)"};
  migrate(connection, std::span(two).first(1));
  CHECK(connection.pragma("user_version") == 1);
  migrate(connection, two);
  migrate(connection, two);
  CHECK(connection.pragma("user_version") == 2);
  const auto one = [&](const char* sql) {
    sqlite::Statement select(connection, sql);
    return select.step() ? select.integer(0) : -1;
  };
  CHECK(one("SELECT count(*) FROM t") == 1);
  CHECK(one("SELECT sum(b) FROM t") == 2);

  const std::array<std::string_view, 4> broken{two[0], two[1], "CREATE TABLE u (a)", "NONSENSE"};
  CHECK_THROWS_AS(migrate(connection, broken), StoreError);
  CHECK(connection.pragma("user_version") == 2);
  CHECK(one("SELECT count(*) FROM sqlite_schema WHERE name = 'u'") == 0);
}

const std::string kRunOfOld =
    "INSERT INTO runs VALUES (1, '0123456789ab', 'd', 'g', 'ad-psgd', 7, 'virtual', 'ring', 2, 10,"
    " '{}', '{}', '2025');";

TEST_CASE("a store of version 1 keeps its runs and learns what later versions have") {
  ScratchFolder temp;
  make_older(
      temp.store(), 1,
      kRunOfOld +
          "INSERT INTO attempts (id, run, number, host, boot_id, pid, process_start, started,"
          " heartbeat, ended, outcome, valid_until_tick, environment, seeds) VALUES"
          " (1, 1, 1, '', '', 1, 1, '2025', '2025', '2025', 'failed', 0, '{}', '{}'),"
          " (2, 1, 2, '', '', 1, 1, '2025', '2025', '2025', 'finished', NULL, '{}', '{}');"
          "INSERT INTO series VALUES (1, 1, -1, 'train_loss', '1', -1, 1, 1, 9, 0, 1, 9),"
          " (2, 2, -1, 'train_loss', '1', -1, 1, 1, 4, 0, 1, 4);"
          "INSERT INTO ticks VALUES (1, 1, 5, 1, 1, 1), (2, 1, 6, 1, 1, 1);"
          "INSERT INTO points VALUES (1, 1, 9, 0), (2, 1, 4, 0)");
  CHECK_THAT(error_of(temp.store(), Store::Access::read),
             ContainsSubstring("older acid") &&
                 ContainsSubstring("acid doctor --store " + temp.store() + " --repair"));
  const Store store(temp.store(), Store::Access::write);
  CHECK(store.impl().connection().pragma("user_version") ==
        static_cast<std::int64_t>(migrations().size()));
  const RunDetail detail = run_detail(store, "0123456789ab");
  CHECK(detail.summary.metrics == std::map<std::string, double>{{"train_loss", 4}});
  REQUIRE(detail.attempts.size() == 2);
  CHECK(detail.attempts[1].resumed_from == 0);
  CHECK(detail.attempts[1].changed.empty());
  CHECK(detail.checkpoints.empty());
  CHECK(read_series(store, "0123456789ab").at(0).points.at(0).position.gradients == 6);
  for (const auto& events : read_events(store, "0123456789ab")) CHECK(events.empty());
  CHECK(read_spans(store, "0123456789ab").empty());
  const Store reader(temp.store(), Store::Access::read);
  CHECK(list_runs(reader).size() == 1);
}

TEST_CASE("a store of version 3 gets the tensors' digests the right way round") {
  ScratchFolder temp;
  make_older(
      temp.store(), 3,
      kRunOfOld +
          "INSERT INTO attempts (id, run, number, host, boot_id, pid, process_start, started,"
          " heartbeat, ended, outcome, environment, seeds) VALUES"
          " (1, 1, 1, '', '', 1, 1, '2025', '2025', '2025', 'finished', '{}', '{}');"
          "INSERT INTO results (attempt, mean_digest, exchanges_drawn, exchanges_done,"
          " exchanges_waiting) VALUES (1, 'm', 5, 5, 0);"
          "INSERT INTO worker_results VALUES (1, 0, 'w', 5, 0.25);"
          "INSERT INTO artifacts VALUES (1, 0, 'final-mean', 'p', 's', 9);"
          "INSERT INTO file_digests VALUES (1, 0, 'graph.txt', 'f');"
          "INSERT INTO worker_spans VALUES (1, 0, X'00');"
          "INSERT INTO checkpoints (id, attempt, number, step, gradients, bytes, last_tick,"
          " last_chunk, path, sha256, file_bytes, created) VALUES"
          " (3, 1, 1, 4, 4, 0, 0, 0, 'c', 's', 1, '2025');"
          "INSERT INTO cut_digests VALUES (3, 0, 'x', X'0706050403020100FFFEFDFCFBFA0000'),"
          " (3, 1, 'y', X'')");
  const Store store(temp.store(), Store::Access::write);
  const auto one = [&](const char* sql) { return first_text(store, sql); };
  CHECK(one("SELECT hex(tensors) FROM cut_digest_list WHERE checkpoint = 1 AND worker = 0") ==
        "00010203040506070000FAFBFCFDFEFF");
  CHECK(one("SELECT typeof(tensors) || length(tensors) FROM cut_digest_list WHERE worker = 1") ==
        "blob0");
  CHECK(one("SELECT run || attempt || exchanges_drawn || coalesce(samples_skipped, '?')"
            " FROM result_list") == "0123456789ab15?");
  CHECK(one("SELECT worker || digest || gradients || idle_seconds FROM worker_result_list") ==
        "0w50.25");
  CHECK(one("SELECT role || path || sha256 || bytes FROM artifact_list") == "final-meanps9");
  CHECK(one("SELECT path || sha256 FROM file_list") == "graph.txtf");
  CHECK(one("SELECT worker || hex(spans) FROM span_list") == "000");
  CHECK_FALSE(run_detail(store, "0123456789ab").result->samples_skipped);
}

TEST_CASE("commits are synced to disk while they are asked to be, and only then") {
  ScratchFolder temp;
  for (const auto durability :
       {WritingConnection::Durability::batched, WritingConnection::Durability::every_commit}) {
    WritingConnection writer(temp.store(), durability);
    const std::int64_t usual = writer.get().pragma("synchronous");
    {
      const CommitsAs synced(writer, WritingConnection::Durability::every_commit);
      CHECK(writer.get().pragma("synchronous") == 2);
    }
    CHECK(writer.get().pragma("synchronous") == usual);
  }
}

TEST_CASE("a store goes on working after its folder has moved") {
  ScratchFolder temp;
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

TEST_CASE("a store in a folder that cannot be written can be read, and says why not more") {
  ScratchFolder temp;
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
  // The database alone, as when it is copied to an archive.
  fs::remove(temp.store() + "/store.db-wal");
  fs::remove(temp.store() + "/store.db-shm");
  CHECK(as_nobody(reads));
  chmod(temp.store().c_str(), 0755);
}

TEST_CASE("who may not write into the folder of a store without a log sees what others write") {
  ScratchFolder temp;
  share_among_hosts(temp.store());
  make_store(temp.store(), {make_run(1)});
  chmod(temp.path().c_str(), 0755);
  chmod((temp.store() + "/store.db").c_str(), 0666);
  chmod(temp.store().c_str(), 0555);
  CHECK(as_nobody([&] {
    const Store reader(temp.store(), Store::Access::read);
    if (number(reader, "SELECT count(*) FROM runs") != 1) return false;
    const sqlite::Connection writer = raw_connection(temp.store());
    writer.execute("PRAGMA journal_mode = memory; DELETE FROM experiment_runs; DELETE FROM runs");
    return number(reader, "SELECT count(*) FROM runs") == 0;
  }));
  chmod(temp.store().c_str(), 0755);
}

TEST_CASE("a journal that a killed writer left is undone before reading") {
  ScratchFolder temp;
  fs::create_directories(temp.path() + "/left");
  {
    Store(temp.store(), Store::Access::write).add_experiment(make_experiment("e"), {make_run(1)});
    const sqlite::Connection writer = raw_connection(temp.store());
    writer.execute("PRAGMA journal_mode = delete; PRAGMA cache_size = 1; BEGIN IMMEDIATE;" +
                   kManyExperiments);
    for (const char* name : {"store.db", "store.db-journal"})
      fs::copy_file(temp.store() + "/" + name, temp.path() + "/left/" + name);
  }
  const Store left(temp.path() + "/left", Store::Access::read);
  CHECK(list_runs(left).size() == 1);
  CHECK(number(left, "SELECT count(*) FROM experiments") == 1);
}

}  // namespace
}  // namespace acid
