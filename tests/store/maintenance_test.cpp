// Faults of a store that are found, and those that are mended.
#include "store/maintenance.hpp"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include "store/files.hpp"
#include "tests/catch.hpp"
#include "tests/store/upkeep_fixture.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;
using namespace test;

std::vector<std::string> texts(const std::vector<StoreFinding>& findings) {
  std::vector<std::string> all;
  for (const StoreFinding& finding : findings) all.push_back(finding.what);
  return all;
}

/// The finding whose text contains `part`.
StoreFinding finding(const Store& store, const std::string& part) {
  const auto all = inspect_store(store);
  INFO("looking for: " << part << "\nfound: " << fmt::format("{}", fmt::join(texts(all), "\n")));
  std::vector<StoreFinding> matching;
  for (const StoreFinding& one : all)
    if (one.what.find(part) != std::string::npos) matching.push_back(one);
  REQUIRE(matching.size() == 1);
  CHECK_FALSE(matching.front().remedy.empty());
  return matching.front();
}

void check_sound(const Store& store) { CHECK(texts(inspect_store(store)).empty()); }

/// A run with two checkpoints that was interrupted, and one that has finished.
struct TwoRuns {
  TwoRuns() {
    Execution first(store, a.id);
    first.work_to("one", 2);
    first.work_to("two", 2);
    first.end(RunState::interrupted);
    Execution second(store, b.id);
    second.work_to("one", 2);
    second.end(RunState::finished);
  }
  std::string folder() const { return temp.store(); }

  ScratchFolder temp;
  RunRecord a = make_run(1), b = make_run(2);
  Store store = make_store(temp.store(), {a, b});
};

TEST_CASE("a store in which nothing is wrong is said to be sound") {
  TwoRuns f;
  check_sound(f.store);
  CHECK(repair_store(f.store).empty());
  check_sound(Store(f.folder(), Store::Access::read));
}

TEST_CASE("an attempt whose process is gone is ended as interrupted") {
  TwoRuns f;
  { Execution(f.store, f.a.id, 0, std::nullopt, dead_lease()).work(1); }
  CHECK(finding(f.store, "attempt 2 of run " + f.a.id).repairable);
  CHECK(repair_store(f.store).size() == 1);
  check_sound(f.store);
  const RunDetail detail = run_detail(f.store, f.a.id);
  CHECK(detail.attempts.back().outcome == "interrupted");
  CHECK(detail.attempts.back().finished != "");
}

TEST_CASE("a run that a living process executes is left alone") {
  TwoRuns f;
  Execution live(f.store, f.a.id, 4, continuation(f.store, f.a.id));
  live.work_to("three", 1);
  write_file(f.folder(), path_of(f.a.id, "four.123.tmp"), "being written");
  check_sound(f.store);
  CHECK(repair_store(f.store).empty());
  CHECK(exists(f.folder(), path_of(f.a.id, "four.123.tmp")));
  // Faults of its files are reported, but not mended.
  fs::remove(f.folder() + "/" + path_of(f.a.id, "two"));
  CHECK_FALSE(finding(f.store, "is missing").repairable);
  CHECK(repair_store(f.store).empty());
}

TEST_CASE("checkpoints whose file was cut short or altered are found and let go of") {
  const bool cut_short = GENERATE(false, true);
  TwoRuns f;
  const std::string path = path_of(f.a.id, "two");
  write_file(f.folder(), path, cut_short ? "two at" : "two at 5");
  const StoreFinding found =
      finding(f.store, cut_short ? "has 6 bytes; 8 were written" : "was altered");
  CHECK(found.repairable);
  CHECK(found.what.find("checkpoint 2 of run " + f.a.id) != std::string::npos);
  CHECK_THAT(found.remedy, ContainsSubstring("go on from checkpoint 1, the only one left"));
  // A file that has lost its row but has its size may still be useful.
  CHECK(repair_store(f.store).size() == (cut_short ? 2 : 1));
  CHECK(exists(f.folder(), path) == !cut_short);
  check_sound(f.store);
  const auto rows = checkpoints_of(f.store, f.a.id);
  REQUIRE(rows.size() == 2);
  CHECK_FALSE(rows[0].removed);
  CHECK(rows[1].removed);
  CHECK(exists(f.folder(), rows[0].path));
}

TEST_CASE("a checkpoint whose file is missing stays one, for the file may be put back") {
  TwoRuns f;
  const std::string file = f.folder() + "/" + path_of(f.a.id, "two"), aside = f.temp.path() + "/2";
  fs::rename(file, aside);
  const StoreFinding found = finding(f.store, "is missing");
  CHECK_FALSE(found.repairable);
  CHECK_THAT(found.remedy, ContainsSubstring("put it back") && ContainsSubstring("checkpoint 1"));
  CHECK(repair_store(f.store).empty());
  CHECK_FALSE(checkpoints_of(f.store, f.a.id).at(1).removed);
  fs::rename(aside, file);
  check_sound(f.store);
}

TEST_CASE("a file that one may not look at is not called altered, and another in its place is") {
  TwoRuns f;
  f.store.add_verification(f.b.id, verified());
  const std::string file = f.folder() + "/" + path_of(f.b.id, "one");
  const auto says = [&](const char* altered, const char* unreadable) {
    const Store store(f.folder(), Store::Access::read);
    RunDetail run = run_detail(store, f.b.id);
    look_at_files(store, run);
    const VerificationRow& row = run.verifications.at(0);
    const auto holds = [](const std::string& words, const std::string& part) {
      return part.empty() ? words.empty() : words.find(part) != std::string::npos;
    };
    return holds(row.altered, altered) && holds(row.unreadable, unreadable);
  };
  CHECK(says("", ""));
  for (const std::string& place : {f.temp.path(), f.folder()}) chmod(place.c_str(), 0755);
  const std::string folder = fs::path(file).parent_path();
  for (const std::string& place : {file, folder}) {
    chmod(place.c_str(), 0);
    CHECK(as_nobody([&] { return says("", "cannot be read"); }));
    CHECK(as_nobody([&] {
      return finding(Store(f.folder(), Store::Access::read), "one cannot be read").remedy ==
             "check its permissions";
    }));
    chmod(place.c_str(), 0755);
  }
  fs::rename(file, file + "-aside");
  fs::create_symlink(file + "-aside", file);
  CHECK(says("is not a plain file", ""));
}

TEST_CASE("what doctor says is left of a run is true") {
  TwoRuns f;
  const auto remedies = [&] {
    std::string all;
    for (const StoreFinding& one : inspect_store(f.store)) all += one.remedy + "\n";
    return all;
  };
  fs::remove(f.folder() + "/" + path_of(f.a.id, "one"));
  CHECK_THAT(remedies(), ContainsSubstring("go on from checkpoint 2, the only one left"));
  write_file(f.folder(), path_of(f.a.id, "two"), "");
  CHECK_THAT(remedies(),
             !ContainsSubstring("go on") && ContainsSubstring("would have to start again"));
  TwoRuns finished;
  fs::remove(finished.folder() + "/" + path_of(finished.b.id, "one"));
  CHECK_THAT(finding(finished.store, "is missing").remedy,
             ContainsSubstring("needs no checkpoint"));
}

TEST_CASE("a lost final model is found, and no repair brings it back") {
  TwoRuns f;
  fs::remove(f.folder() + "/" + path_of(f.b.id, "final-mean.safetensors"));
  const StoreFinding found = finding(f.store, "final-mean of run " + f.b.id);
  CHECK_FALSE(found.repairable);
  CHECK(found.remedy.find("--force") != std::string::npos);
  CHECK(repair_store(f.store).empty());
  CHECK(run_detail(f.store, f.b.id).result->artifacts.size() == 1);
}

TEST_CASE("files that no row names are found and deleted, but not young ones") {
  TwoRuns f;
  const std::string in_run = path_of(f.a.id, "left-over"), unknown = path_of("0123456789ab", "x/y");
  const std::string temporary = path_of(f.b.id, "one.4711.tmp"), young = path_of(f.a.id, "young");
  for (const std::string& path : {in_run, unknown, temporary, young})
    write_file(f.folder(), path, "content");
  write_file(f.folder(), "notes.txt", "not under checkpoints/");
  std::ofstream(f.folder() + "/" + young) << "just written";
  CHECK(finding(f.store, in_run).repairable);
  CHECK(finding(f.store, unknown).repairable);
  CHECK(finding(f.store, temporary).what.find("temporary") != std::string::npos);
  CHECK(inspect_store(f.store).size() == 3);
  CHECK(repair_store(f.store).size() == 3);
  check_sound(f.store);
  CHECK_FALSE(exists(f.folder(), in_run));
  CHECK_FALSE(exists(f.folder(), "checkpoints/0123456789ab"));
  CHECK(exists(f.folder(), young));
  CHECK(exists(f.folder(), "notes.txt"));
}

TEST_CASE("the file of a checkpoint that was let go of is spared until the run has finished") {
  TwoRuns f;
  const std::string path = path_of(f.a.id, "two");
  execute(f.store, "UPDATE checkpoints SET removed = created WHERE number = 2");
  check_sound(f.store);
  CHECK(find_garbage(f.store, true).empty());
  collect_garbage(f.store, {{{path, "", 0}}, 0, 0});
  CHECK(exists(f.folder(), path));
  Execution(f.store, f.a.id, 4, continuation(f.store, f.a.id)).end(RunState::finished);
  CHECK(finding(f.store, path).repairable);
  repair_store(f.store);
  CHECK_FALSE(exists(f.folder(), path));
}

TEST_CASE("once a run starts again, files of its earlier checkpoints are not spared") {
  TwoRuns f;
  execute(f.store, "UPDATE checkpoints SET removed = created WHERE number = 2");
  Execution(f.store, f.a.id).end(RunState::interrupted);
  CHECK(finding(f.store, path_of(f.a.id, "two")).repairable);
}

TEST_CASE("rows that refer to rows which do not exist are found") {
  TwoRuns f;
  execute(f.store,
          "PRAGMA foreign_keys = OFF; INSERT INTO log (attempt, time, severity, text) VALUES"
          " (99, 't', 'info', 'x'), (98, 't', 'info', 'y'); PRAGMA foreign_keys = ON");
  const StoreFinding found = finding(f.store, "2 row(s) of the table log");
  CHECK_FALSE(found.repairable);
  CHECK(repair_store(f.store).empty());
}

TEST_CASE("a checkpoint whose run was lost still keeps its file") {
  TwoRuns f;
  execute(f.store,
          "PRAGMA foreign_keys = OFF; UPDATE checkpoints SET attempt = attempt + 98; PRAGMA "
          "foreign_keys = ON");
  CHECK(repair_store(f.store).empty());
  CHECK(exists(f.folder(), path_of(f.a.id, "one")));
}

TEST_CASE("paths in rows that lead elsewhere are findings and nothing else") {
  const std::string path =
      GENERATE("../outside", "/etc/hostname", "store.db", "checkpoints/../store.db", "checkpoints",
               "", "checkpoints/", "checkpoints//x", "checkpoints/./x", "notes.txt");
  TwoRuns f;
  write_file(f.temp.path(), "outside", "precious");
  write_file(f.folder(), "notes.txt", "precious");
  execute(f.store, fmt::format("UPDATE checkpoints SET path = '{}' WHERE id = 2", path));
  const StoreFinding found = finding(f.store, "is not a path under checkpoints/");
  CHECK_FALSE(found.repairable);
  make_old(f.folder(), path_of(f.a.id, "two"));
  CHECK(repair_store(f.store).size() == 1);  // the file that has lost its name
  CHECK(exists(f.temp.path(), "outside"));
  CHECK(exists(f.folder(), "notes.txt"));
  CHECK(exists(f.folder(), "store.db"));
}

TEST_CASE("symbolic links are reported, neither followed nor deleted") {
  TwoRuns f;
  write_file(f.temp.path(), "elsewhere/file", "precious");
  const std::string link = path_of(f.a.id, "link"), folder_link = "checkpoints/linked";
  fs::create_symlink(f.temp.path() + "/elsewhere/file", f.folder() + "/" + link);
  fs::create_symlink(f.temp.path() + "/elsewhere", f.folder() + "/" + folder_link);
  make_old(f.folder(), link);
  make_old(f.folder(), folder_link);
  CHECK_FALSE(finding(f.store, link + " is a symbolic link").repairable);
  CHECK_FALSE(finding(f.store, folder_link + " is a symbolic link").repairable);
  // Also when a row names a file behind the link.
  execute(f.store, "UPDATE checkpoints SET path = 'checkpoints/linked/file' WHERE id = 2");
  CHECK_FALSE(finding(f.store, "reached through a symbolic link").repairable);
  fs::remove(f.folder() + "/" + path_of(f.a.id, "two"));
  CHECK(repair_store(f.store).empty());
  CHECK(exists(f.folder(), link));
  CHECK(exists(f.folder(), folder_link));
  CHECK(exists(f.temp.path(), "elsewhere/file"));
  CHECK_THROWS_AS(remove_file(f.folder(), "checkpoints/linked/file"), StoreError);
  CHECK_THROWS_AS(digest_of_file(f.folder(), "checkpoints/linked/file"), StoreError);
}

TEST_CASE("when checkpoints itself is a link, that is said once and nothing behind it is touched") {
  TwoRuns f;
  fs::rename(f.folder() + "/checkpoints", f.temp.path() + "/big-disk");
  fs::create_symlink(f.temp.path() + "/big-disk", f.folder() + "/checkpoints");
  write_file(f.temp.path(), "big-disk/orphan", "x");
  CHECK(inspect_store(f.store).size() == 1);
  CHECK_FALSE(finding(f.store, "checkpoints is a symbolic link").repairable);
  CHECK(repair_store(f.store).empty());
  CHECK(exists(f.temp.path(), "big-disk/orphan"));
}

/// Overwrites the first page of a table or index.
void damage_table(const std::string& folder, const std::string& table) {
  std::int64_t page = 0, size = 0;
  {
    const Store store(folder, Store::Access::write);
    page = number(store, "SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'");
    size = number(store, "PRAGMA page_size");
  }
  std::fstream file(folder + "/store.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp((page - 1) * size);
  file << std::string(static_cast<std::size_t>(size), '\xA5');
}

TEST_CASE("damage of the database is reported, and then nothing is repaired or deleted") {
  const std::string table =
      GENERATE("points", "attempts", "checkpoints", "runs", "artifacts", "sqlite_autoindex_runs_1");
  ScratchFolder temp;
  const RunRecord run = make_run(1);
  {
    Store store = make_store(temp.store(), {run});
    Execution execution(store, run.id);
    execution.work_to("one", 3);
    execution.end(RunState::interrupted);
    write_file(temp.store(), path_of(run.id, "orphan"), "x");
  }
  damage_table(temp.store(), table);
  Store store(temp.store(), Store::Access::write);
  const auto findings = inspect_store(store);
  REQUIRE_FALSE(findings.empty());
  CHECK(findings[0].what.find("the database is damaged") == 0);
  for (const StoreFinding& one : findings) CHECK_FALSE(one.repairable);
  CHECK_THROWS_WITH(repair_store(store),
                    ContainsSubstring("damaged") && ContainsSubstring(".recover"));
  const Garbage garbage{{{path_of(run.id, "orphan"), "", 1}}, 0, 0};
  CHECK_THROWS_AS(collect_garbage(store, garbage), StoreError);
  CHECK(exists(temp.store(), path_of(run.id, "orphan")));
  CHECK(exists(temp.store(), path_of(run.id, "one")));
}

TEST_CASE("rows cannot make a program open or remove what is not under checkpoints") {
  TwoRuns f;
  const std::string path = path_of(f.a.id, "two");
  CHECK(checked_path(f.store, path) == f.folder() + "/" + path);
  CHECK(checked_path(f.store, path_of(f.a.id, "not there")) != "");
  write_file(f.temp.path(), "outside", "precious");
  for (const char* bad : {"../outside", "checkpoints/../../outside", "/etc/hostname", "store.db"}) {
    CHECK_THROWS_WITH(checked_path(f.store, bad),
                      ContainsSubstring(bad) && ContainsSubstring("doctor"));
    CHECK_THROWS_AS(remove_file(f.folder(), bad), StoreError);
  }
  fs::create_symlink(f.temp.path(), f.folder() + "/checkpoints/linked");
  CHECK_THROWS_AS(remove_file(f.folder(), "checkpoints/linked/outside"), StoreError);
  CHECK(exists(f.temp.path(), "outside"));
  remove_file(f.folder(), path);
  remove_file(f.folder(), path);
  CHECK_FALSE(exists(f.folder(), path));
}

TEST_CASE("paths under checkpoints are told from all others") {
  for (const char* good :
       {"checkpoints/a", "checkpoints/a/b.c", "checkpoints/..a/...", "checkpoints/ /\n"})
    CHECK(is_checkpoint_path(good));
  for (const char* bad : {"", "checkpoints", "checkpoints/", "checkpoints/..", "checkpoints/a/..",
                          "checkpoints/a/../../b", "/checkpoints/a", "checkpoints//a",
                          "checkpoints/a/", "checkpointsx/a", "./checkpoints/a", "Checkpoints/a"})
    CHECK_FALSE(is_checkpoint_path(bad));
  CHECK_FALSE(is_checkpoint_path(std::string("checkpoints/a\0/../..", 20)));
  CHECK(run_folder_of("checkpoints/1a2b/x") == "1a2b");
}

}  // namespace
}  // namespace acid
