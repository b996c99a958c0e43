// What acid gc deletes, and what it must keep.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/base/clock.hpp"
#include "tests/catch.hpp"
#include "tests/store/upkeep_fixture.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;
using namespace test;

std::vector<std::string> paths(const Garbage& garbage) {
  std::vector<std::string> all;
  for (const Leftover& file : garbage.files) all.push_back(file.path);
  return all;
}

void collect_all(Store& store, bool keep_checkpoints = false) {
  collect_garbage(store, find_garbage(store, keep_checkpoints));
}

/// 1 (to 6) → from its checkpoint at 4: 2 (to 8) → from that one's at 6: 3 (to 7).
void record_chain(Store& store, const std::string& run) {
  Execution first(store, run);
  first.work_to("c2", 2);
  first.work_to("c4", 2);
  first.work_to("c6", 2);
  first.end(RunState::interrupted);
  Execution second(store, run, 4, continuation(store, run, 1));
  second.work_to("c6-again", 2);
  second.work(2);
  second.end(RunState::interrupted);
  Execution third(store, run, 6, continuation(store, run));
  third.work_to("c7", 1);
  third.end(RunState::interrupted);
}

struct GarbageFixture {
  ScratchFolder temp;
  RunRecord run = make_run(1), other = make_run(2);
  Store store = make_store(temp.store(), {run, other});
  std::string path(const std::string& name) const { return path_of(run.id, name); }
};

TEST_CASE("the folder of a merge whose process is gone is garbage, that of another is not") {
  GarbageFixture f;
  const std::string dead = f.temp.store() + ".merging-1", live = f.temp.store() + ".merging-2",
                    unknown = f.temp.store() + ".merging-3",
                    foreign = f.temp.store() + ".merging-4";
  for (const std::string& folder : {dead, live, unknown, foreign}) fs::create_directory(folder);
  const pid_t child = fork();
  if (child == 0) {
    note_merging(dead);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  note_merging(live);
  std::ofstream(foreign + "/merging") << "elsewhere\nboot\n1 1\n";
  CHECK(paths(find_garbage(f.store, true)) ==
        std::vector{"../" + fs::path(dead).filename().string()});
  collect_all(f.store);
  CHECK_FALSE(fs::exists(dead));
  for (const std::string& folder : {live, unknown, foreign}) CHECK(fs::exists(folder));
  CHECK(find_garbage(f.store, false).empty());
}

TEST_CASE("a store without garbage has none, and collecting nothing changes nothing") {
  GarbageFixture f;
  CHECK(find_garbage(f.store, false).empty());
  Execution execution(f.store, f.run.id);
  execution.work_to("one", 3);
  execution.end(RunState::interrupted);
  CHECK(find_garbage(f.store, false).empty());
  const std::string before = shown(f.store, f.run.id);
  collect_garbage(f.store, {});
  CHECK(shown(f.store, f.run.id) == before);
}

TEST_CASE("of a chain of attempts what counts stays and the rest goes") {
  GarbageFixture f;
  record_chain(f.store, f.run.id);
  const std::string before = shown(f.store, f.run.id);
  const Garbage garbage = find_garbage(f.store, false);
  CHECK(paths(garbage) == std::vector<std::string>{f.path("c6")});
  // The first two attempts have two superseded gradients each, with two values per gradient.
  CHECK(garbage.superseded_points == 8);
  CHECK(garbage.superseded_events == 4);
  collect_garbage(f.store, garbage);
  CHECK(shown(f.store, f.run.id) == before);
  CHECK(find_garbage(f.store, false).empty());
  CHECK(inspect_store(f.store).empty());
  CHECK_FALSE(exists(f.temp.store(), f.path("c6")));
  for (const char* name : {"c2", "c4", "c6-again", "c7"})
    CHECK(exists(f.temp.store(), f.path(name)));
  CHECK(number(f.store, "SELECT count(*) FROM points") == 14);
  CHECK(number(f.store, "SELECT count(*) FROM ticks") == 7);
  CHECK(number(f.store, "SELECT count(*) FROM cut_digests") == 4);
}

TEST_CASE("a run that began afresh leaves nothing of its earlier attempts but their history") {
  GarbageFixture f;
  record_chain(f.store, f.run.id);
  Execution fresh(f.store, f.run.id);
  fresh.work(3);
  fresh.end(RunState::interrupted);
  const std::string before = shown(f.store, f.run.id);
  const Garbage garbage = find_garbage(f.store, false);
  CHECK(garbage.superseded_events == 6 + 4 + 1);
  CHECK(paths(garbage).size() == 5);
  collect_garbage(f.store, garbage);
  CHECK(shown(f.store, f.run.id) == before);
  CHECK(number(f.store, "SELECT count(*) FROM points") == 6);
  CHECK(number(f.store, "SELECT count(*) FROM series") == 2);
  CHECK(number(f.store, "SELECT count(*) FROM ticks") == 3);
  CHECK(number(f.store, "SELECT count(*) FROM event_chunks WHERE attempt <> 4") == 0);
  CHECK(number(f.store, "SELECT count(*) FROM attempts") == 4);
  CHECK(number(f.store, "SELECT count(*) FROM checkpoints WHERE removed IS NULL") == 0);
}

TEST_CASE("an attempt that was continued before its first value keeps the events that count") {
  GarbageFixture f;
  {
    Execution first(f.store, f.run.id);
    first.checkpoint("start");
    first.work(2);
    first.end(RunState::interrupted);
  }
  {
    Execution second(f.store, f.run.id, 0, continuation(f.store, f.run.id));
    second.work(1);
    second.end(RunState::interrupted);
  }
  const std::string before = shown(f.store, f.run.id);
  collect_all(f.store);
  CHECK(shown(f.store, f.run.id) == before);
  CHECK(exists(f.temp.store(), f.path("start")));
}

TEST_CASE("checkpoints of a finished run go, its digests and its model stay") {
  const bool keep = GENERATE(false, true);
  GarbageFixture f;
  Execution execution(f.store, f.run.id);
  execution.work_to("one", 2);
  execution.end(RunState::finished);
  const Garbage garbage = find_garbage(f.store, keep);
  CHECK(garbage.files.size() == (keep ? 0 : 1));
  if (!keep) {
    CHECK(garbage.files[0].why.find("checkpoint 1 of run " + f.run.id) == 0);
    CHECK(garbage.files[0].bytes == 8);
  }
  collect_garbage(f.store, garbage);
  CHECK(exists(f.temp.store(), f.path("one")) == keep);
  CHECK(checkpoints_of(f.store, f.run.id).at(0).removed != keep);
  CHECK(cut_digests(f.store, 1).workers.size() == 1);
  CHECK(exists(f.temp.store(), f.path("final-mean.safetensors")));
  CHECK(inspect_store(f.store).empty());
}

TEST_CASE("the final model of a superseded attempt goes, unless a later one wrote it again") {
  const bool finished_again = GENERATE(false, true);
  GarbageFixture f;
  Execution(f.store, f.run.id).end(RunState::finished);
  Execution(f.store, f.run.id).end(finished_again ? RunState::finished : RunState::interrupted);
  CHECK(find_garbage(f.store, false).files.size() == (finished_again ? 0 : 1));
  collect_all(f.store);
  CHECK(exists(f.temp.store(), f.path("final-mean.safetensors")) == finished_again);
  CHECK(inspect_store(f.store).empty());
}

TEST_CASE("a file that a needed checkpoint wrote under the name of a superseded one stays") {
  GarbageFixture f;
  Execution first(f.store, f.run.id);
  first.checkpoint("one");
  first.work_to("same", 1);
  first.end(RunState::interrupted);
  Execution second(f.store, f.run.id, 0, continuation(f.store, f.run.id, 1));
  second.work_to("same", 1);
  second.end(RunState::interrupted);
  execute(f.store, "UPDATE checkpoints SET removed = NULL");
  CHECK(find_garbage(f.store, false).files.empty());
  CHECK(inspect_store(f.store).empty());
  collect_garbage(f.store, {{{f.path("same"), "", 0}}, 0, 0});
  CHECK(exists(f.temp.store(), f.path("same")));
}

TEST_CASE("orphans and temporary files are garbage, young ones are not") {
  GarbageFixture f;
  write_file(f.temp.store(), "checkpoints/a", "x");
  write_file(f.temp.store(), f.path("b.12.tmp"), "x");
  write_file(f.temp.store(), f.path("young"), "x");
  std::ofstream(f.temp.store() + "/" + f.path("young")) << "now";
  CHECK(find_garbage(f.store, true).files.size() == 2);
  collect_all(f.store, true);
  CHECK(find_garbage(f.store, true).empty());
  CHECK(exists(f.temp.store(), f.path("young")));
  CHECK_FALSE(exists(f.temp.store(), "checkpoints/a"));
}

TEST_CASE("on a full disk gc deletes what it may before it can change a row") {
  GarbageFixture f;
  Execution finished(f.store, f.run.id);
  for (const char* name : {"one", "two"}) finished.checkpoint(name);
  finished.end(RunState::finished);
  Execution interrupted(f.store, f.other.id);
  interrupted.checkpoint("needed");
  interrupted.end(RunState::interrupted);
  write_file(f.temp.store(), f.path("orphan"), "x");
  const Garbage garbage = find_garbage(f.store, false);
  CHECK(garbage.files.size() == 3);
  fill_the_disk(f.store, "UPDATE");
  CHECK_THROWS_WITH(collect_garbage(f.store, garbage), ContainsSubstring("the disk is full"));
  for (const char* name : {"orphan", "one", "two"})
    CHECK_FALSE(exists(f.temp.store(), f.path(name)));
  CHECK(exists(f.temp.store(), f.path("final-mean.safetensors")));
  CHECK(exists(f.temp.store(), path_of(f.other.id, "needed")));
  for (const StoreFinding& finding : inspect_store(f.store))
    CHECK_THAT(finding.remedy, ContainsSubstring("the run has finished and needs no checkpoint"));
}

TEST_CASE("a run that a living process executes keeps its rows and files") {
  GarbageFixture f;
  record_chain(f.store, f.run.id);
  const Garbage garbage = find_garbage(f.store, false);
  CHECK_FALSE(garbage.empty());
  // Another process takes the run up between finding and collecting.
  Execution live(f.store, f.run.id);
  live.work(1);
  write_file(f.temp.store(), f.path("next.1.tmp"), "being written");
  CHECK(find_garbage(f.store, false).empty());
  const auto points = number(f.store, "SELECT count(*) FROM points");
  const auto chunks = number(f.store, "SELECT count(*) FROM event_chunks");
  collect_garbage(f.store, garbage);
  collect_garbage(f.store, {{{f.path("next.1.tmp"), "", 0}, {f.path("c4"), "", 0}}, 0, 0});
  CHECK(number(f.store, "SELECT count(*) FROM points") == points);
  CHECK(number(f.store, "SELECT count(*) FROM event_chunks") == chunks);
  for (const char* name : {"c2", "c4", "c6", "c6-again", "c7", "next.1.tmp"})
    CHECK(exists(f.temp.store(), f.path(name)));
}

TEST_CASE("another run's row cannot make gc delete a file of a living run") {
  GarbageFixture f;
  Execution live(f.store, f.run.id);
  live.work_to("one", 1);
  write_file(f.temp.store(), f.path("half-written"), "x");
  Execution ended(f.store, f.other.id);
  ended.checkpoint("mine");
  ended.checkpoint("mine too");
  ended.end(RunState::finished);
  execute(f.store, fmt::format("UPDATE checkpoints SET path = '{}' WHERE id = 2;"
                               "UPDATE checkpoints SET path = '{}' WHERE id = 3",
                               f.path("one"), f.path("half-written")));
  collect_all(f.store);
  CHECK(exists(f.temp.store(), f.path("one")));
  CHECK(exists(f.temp.store(), f.path("half-written")));
}

TEST_CASE("gc deletes nothing outside checkpoints, for any rows and requests") {
  const std::string path = GENERATE("../outside", "store.db", "checkpoints/../store.db",
                                    "checkpoints/../../outside", "checkpoints/linked/outside", "");
  GarbageFixture f;
  Execution ended(f.store, f.run.id);
  ended.checkpoint("one");
  ended.end(RunState::finished);
  write_file(f.temp.path(), "outside", "precious");
  fs::create_directory_symlink(f.temp.path(), f.temp.store() + "/checkpoints/linked");
  execute(f.store, fmt::format("UPDATE checkpoints SET path = '{}', superseded = 1", path));
  CHECK(paths(find_garbage(f.store, false)) ==
        std::vector<std::string>{f.path("one")});  // it has lost its name
  collect_all(f.store);
  CHECK_FALSE(exists(f.temp.store(), f.path("one")));
  execute(f.store, "DELETE FROM cut_digests; DELETE FROM checkpoints");
  try {
    collect_garbage(f.store, {{{path, "", 0}}, 0, 0});
  } catch (const StoreError&) {
    CHECK(path == "checkpoints/linked/outside");
  }
  CHECK(exists(f.temp.path(), "outside"));
  CHECK(exists(f.temp.store(), "store.db"));
}

/// Attempts with many superseded records, and a last one with few that count.
void record_much(Store& store, const std::string& run, int files) {
  const auto attempt = begin(store, run);
  {
    RunWriter writer(store.folder(), run, attempt);
    for (int i = 1; i <= 20'000; ++i) {
      sample(writer, {i, 0, 0, 0},
             {{"train_loss", kWholeRun, 1.0 * i},
              {"staleness", 0, 1.0 * i},
              {"staleness", 1, 1.0 * i}});
    }
    writer.flush();
  }
  store.end_attempt(attempt, ended_as(RunState::interrupted));
  {
    Execution second(store, run);
    second.checkpoint("superseded-1");
    second.end(RunState::interrupted);
  }
  for (int i = 2; i <= files; ++i)
    write_file(store.folder(), path_of(run, fmt::format("superseded-{}", i)), "superseded");
  const std::string more = fmt::format(
      "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {0})"
      "INSERT INTO checkpoints (attempt, number, step, gradients, bytes, last_tick, last_chunk,"
      " path, sha256, file_bytes, created)"
      "SELECT attempt, i, 0, 0, 0, 0, 0, replace(path, '-1', '-' || i), '', 10, created"
      " FROM checkpoints JOIN n WHERE {0} >= 2",
      files);
  execute(store, more);
  Execution last(store, run);
  last.work_to("needed", 5);
  last.end(RunState::interrupted);
}

TEST_CASE("more rows than one transaction deletes go, and the file gets smaller") {
  GarbageFixture f;
  record_much(f.store, f.run.id, 1);
  const std::string before = shown(f.store, f.run.id);
  const auto database = f.temp.store() + "/store.db";
  f.store = Store(f.temp.store(), Store::Access::write);  // what was written is in the file now
  const auto size = fs::file_size(database);
  CHECK(find_garbage(f.store, false).superseded_points == 60'000);
  SECTION("when no other process uses the store") {
    collect_all(f.store);
    CHECK(fs::file_size(database) < size / 2);
  }
  SECTION("but not while another reads it") {
    const Store reader(f.temp.store(), Store::Access::read);
    CHECK(list_runs(reader).size() == 2);
    collect_all(f.store);
    CHECK(shown(reader, f.run.id) == before);
    CHECK(fs::file_size(database) >= size);
  }
  CHECK(shown(f.store, f.run.id) == before);
  CHECK(find_garbage(f.store, false).empty());
  CHECK(first_text(f.store, "PRAGMA journal_mode") == "wal");
}

std::ptrdiff_t files_in(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

/// Collects garbage in a process of its own, and kills it after `seconds` or when fewer than
/// `files_left` files are left. Call it while this process has no connection.
void collect_until_killed(const std::string& folder, const std::string& files, double seconds,
                          std::ptrdiff_t files_left) {
  const pid_t child = start([&] {
    Store store(folder, Store::Access::write);
    collect_all(store);
  });
  const SteadyClock clock;
  const double began = clock.seconds();
  while (waitpid(child, nullptr, WNOHANG) == 0)
    if (clock.seconds() - began > seconds || files_in(files) < files_left) kill(child, SIGKILL);
}

TEST_CASE("gc killed at any instant leaves no row without its file, and the next one finishes") {
  constexpr int kFiles = 150, kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    ScratchFolder temp;
    const RunRecord run = make_run(1);
    const std::string files = temp.store() + "/checkpoints/" + run.id;
    std::string before;
    {
      Store store = make_store(temp.store(), {run});
      record_much(store, run.id, kFiles);
      before = shown(store, run.id);
      REQUIRE(files_in(files) == kFiles + 1);
    }
    const bool while_deleting = round % 2 == 0;
    collect_until_killed(temp.store(), files, while_deleting ? 60 : 0.03 * round,
                         while_deleting ? kFiles - kFiles * round / kRounds : 0);
    Store store(temp.store(), Store::Access::write);
    sqlite::Statement named(store.impl().connection(),
                            "SELECT path FROM checkpoints WHERE removed IS NULL");
    while (named.step()) {
      INFO("round " << round << ": " << named.text(0));
      CHECK(exists(temp.store(), named.text(0)));
    }
    CHECK(shown(store, run.id) == before);
    collect_all(store);
    CHECK(find_garbage(store, false).empty());
    CHECK(inspect_store(store).empty());
    CHECK(shown(store, run.id) == before);
    CHECK(number(store, "SELECT count(*) FROM points") == 10);
    CHECK(files_in(files) == 1);
  }
}

}  // namespace
}  // namespace acid
