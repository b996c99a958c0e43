#include "exports/crate_check.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/digest.hpp"
#include "exports/zip.hpp"
#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;
using namespace test;

const RunJson kCheckedRunJson = [](const RunDetail& run) {
  return nlohmann::json{{"id", run.summary.id}};
};
const CrateBuild kMaker{"1.2", "c0ffee", ""};

void export_checked(const std::string& store_folder, const std::string& to) {
  RunRecord run = make_run(1), other = make_run(2);
  Store store = make_store(store_folder, {run, other});
  for (const RunRecord& one : {run, other}) {
    const std::int64_t number = begin(store, one.id);
    store.end_attempt(number, ended_as(RunState::finished));
  }
  StagedFolder folder(to);
  fill_crate(store, {run.id, other.id}, folder,
             {.author = {}, .license = {}, .acid = kMaker, .parts = {}}, kCheckedRunJson,
             [](std::size_t) {});
  to.ends_with(".zip") ? folder.commit_zip() : folder.commit_folder();
}

std::string found_in(const std::string& crate, const CrateBuild& here = kMaker) {
  std::string all;
  for (const StoreFinding& finding : OpenCrate(crate).findings(kCheckedRunJson, here))
    all += finding.what + "\n";
  return all;
}

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

}  // namespace

TEST_CASE(
    "nothing is found in a crate as it was made, whether folder or archive, and it stays so") {
  const ScratchFolder folder;
  const std::string crate = folder.path() + "/crate", archive = folder.path() + "/crate.zip";
  export_checked(folder.store(), crate);
  export_checked(folder.path() + "/other", archive);
  CHECK(is_crate(crate));
  CHECK(is_crate(archive));
  CHECK_FALSE(is_crate(folder.store()));
  CHECK_FALSE(is_crate(folder.path() + "/none.zip"));
  CHECK(found_in(crate).empty());
  CHECK(found_in(archive).empty());
  std::string store;
  {
    const OpenCrate open(crate);
    store = open.store_folder();
    CHECK(open.asked().ids.size() == 2);
    Store(store, Store::Access::write).impl().connection().execute("DELETE FROM tags");
  }
  CHECK_FALSE(fs::exists(store));
  CHECK(found_in(crate).empty());
}

TEST_CASE("a file of a crate that was altered, left out or added is named") {
  const ScratchFolder folder;
  const std::string made = folder.path() + "/crate", crate = folder.path() + "/altered";
  export_checked(folder.store(), made);
  const auto altered = [&](const std::function<void()>& alter) {
    fs::remove_all(crate);
    fs::copy(made, crate, fs::copy_options::recursive);
    alter();
    return found_in(crate);
  };
  for (const char* file : {"metrics.csv", "comparison.json", "environments.json", "recipe.toml"})
    CHECK_THAT(altered([&] { append(crate + "/" + file, " "); }),
               ContainsSubstring(std::string(file) + " was altered") &&
                   ContainsSubstring(std::string(file) + " is not what the store gives"));
  CHECK_THAT(altered([&] { append(crate + "/REPRODUCE.md", " "); }),
             ContainsSubstring("REPRODUCE.md was altered"));
  CHECK_THAT(altered([&] { fs::remove(crate + "/comparison.md"); }),
             ContainsSubstring("comparison.md is missing"));
  CHECK_THAT(altered([&] { append(crate + "/acid-store/store.db-wal", "x"); }),
             ContainsSubstring("store.db-wal is in the crate"));
  CHECK_THAT(altered([&] {
               fs::remove(crate + "/metrics.csv");
               fs::create_symlink(made + "/metrics.csv", crate + "/metrics.csv");
             }),
             ContainsSubstring("metrics.csv is missing"));
  // Whoever alters a table writes SHA256SUMS anew as well.
  const std::string renewed = altered([&] {
    append(crate + "/metrics.csv", "\n");
    std::ifstream in(made + "/SHA256SUMS");
    std::ofstream out(crate + "/SHA256SUMS");
    for (std::string line; std::getline(in, line);)
      out << (line.ends_with("  metrics.csv")
                  ? sha256_file(crate + "/metrics.csv") + "  metrics.csv"
                  : line)
          << "\n";
  });
  CHECK(renewed == "metrics.csv is not what the store gives\n");
  // Another acid may write a table otherwise, and says which one wrote it.
  append(crate + "/SHA256SUMS", "");
  CHECK_THAT(found_in(crate, {"1.3", "decade", ""}),
             ContainsSubstring("acid 1.2, commit c0ffee, made it"));
}

TEST_CASE("an experiment that the crate does not name is found in its store") {
  const ScratchFolder folder;
  const std::string crate = folder.path() + "/crate";
  export_checked(folder.store(), crate);
  const std::string experiment =
      list_experiments(Store(crate + "/acid-store", Store::Access::read)).front().id;
  const auto found_with = [&](const std::string& named) {
    std::ofstream(crate + "/asked.json")
        << R"({"acid_version": "1.2", "git_commit": "c0ffee", "experiments": )" << named << "}";
    return found_in(crate);
  };
  CHECK_THAT(found_with("[\"" + experiment + "\"]"), !ContainsSubstring("judged"));
  Store(crate + "/acid-store", Store::Access::write)
      .add_experiment(make_experiment("hidden"), {make_run(1)});
  CHECK_THAT(found_with("[\"" + experiment + "\"]"),
             ContainsSubstring("experiment hidden is in the crate, but not in asked.json"));
  // What cannot be read is a finding, too.
  Store(crate + "/acid-store", Store::Access::write)
      .impl()
      .connection()
      .execute(R"(UPDATE experiments SET comparison = '{"claims": [1]}')");
  CHECK_THAT(found_with("[\"" + experiment + "\"]"),
             ContainsSubstring("the crate's store cannot be read"));
}

TEST_CASE("a crate holds what a search tried, and compares what it chose") {
  const ScratchFolder folder;
  const std::string crate = folder.path() + "/crate";
  RunRecord run = make_run(1), tried = make_run(9);
  tried.is_search = true;
  Store store = make_store(folder.store(), {run, tried});
  AskedRuns asked{run.id, tried.id};
  asked.experiments = {make_experiment("test").id};
  const auto make = [&](const AskedRuns& runs, const CrateParts& parts) {
    fs::remove_all(crate);
    StagedFolder staged(crate);
    fill_crate(store, runs, staged, {.author = {}, .license = {}, .acid = kMaker, .parts = parts},
               kCheckedRunJson, [](std::size_t) {});
    staged.commit_folder();
  };
  for (const RunRecord& one : {run, tried})
    store.end_attempt(begin(store, one.id), ended_as(RunState::finished));
  make(asked, {});
  CHECK(nlohmann::json::parse(content_of(crate + "/comparison.json"))["groups"][0]["seeds"] ==
        nlohmann::json{1});
  CHECK(fs::exists(crate + "/runs/" + tried.id + "/run.json"));
  CHECK(found_in(crate).empty());
  CHECK_THAT(
      content_of(crate + "/REPRODUCE.md"),
      ContainsSubstring("acid compare --store acid-store " + asked.experiments.front() + "\n"));
  asked.ids = {tried.id};
  CHECK_THROWS_WITH(make(asked, {}), ContainsSubstring("tried by a search"));
  make(asked, {.models = true, .tables = false});
  CHECK(found_in(crate).empty());
}

TEST_CASE("a crate that cannot be written is checked in a copy that can") {
  const ScratchFolder folder;
  const std::string crate = folder.path() + "/crate", store = crate + "/acid-store/store.db";
  export_checked(folder.store(), crate);
  fs::permissions(store, fs::perms::owner_read);
  const OpenCrate open(crate);
  const fs::perms copied = fs::status(open.store_folder() + "/store.db").permissions();
  CHECK((copied & fs::perms::owner_write) != fs::perms::none);
  CHECK(open.findings(kCheckedRunJson, kMaker).empty());
}

TEST_CASE("a crate that an older acid made is brought up to date in a copy and checked") {
  const ScratchFolder folder;
  const std::string crate = folder.path() + "/crate", store = crate + "/acid-store/store.db";
  fs::create_directories(crate + "/acid-store");
  {
    const sqlite::Connection old(store, "", sqlite::Connection::Mode::write);
    migrate(old, migrations().first(migrations().size() - 1));
  }
  const std::string sum = sha256_file(store);
  append(crate + "/SHA256SUMS", sum + "  acid-store/store.db\n");
  CHECK_THROWS_WITH(Store(crate + "/acid-store", Store::Access::read),
                    ContainsSubstring("older acid"));
  CHECK(OpenCrate(crate).asked().ids.empty());
  CHECK(sha256_file(store) == sum);
  fs::remove(store);
  {
    const sqlite::Connection old(store, "", sqlite::Connection::Mode::write);
    migrate(old, migrations().first(8));
  }
  CHECK_THROWS_WITH(OpenCrate(crate), ContainsSubstring("no seals of what runs left behind"));
}

TEST_CASE("what is no crate, or leads out of it, is refused and leaves nothing") {
  const ScratchFolder folder;
  const std::string crate = folder.path() + "/crate";
  export_checked(folder.store(), crate);
  const std::string temporary = folder.path() + "/tmp";
  fs::create_directory(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  fs::create_directory(folder.path() + "/empty");
  CHECK_THROWS_AS(OpenCrate(folder.path() + "/empty"), UsageError);
  append(folder.path() + "/text.zip", "no archive");
  CHECK_THROWS_WITH(OpenCrate(folder.path() + "/text.zip"), ContainsSubstring("ZIP archive"));
  fs::create_directories(folder.path() + "/a/b");
  append(folder.path() + "/outside", "x");
  for (const char* path : {"../outside", "b/../../outside", "../a/../outside"}) {
    const std::string archive = folder.path() + "/hostile.zip";
    fs::remove(archive);
    write_zip(archive, folder.path() + "/a", {path});
    CHECK_THROWS_WITH(OpenCrate(archive), ContainsSubstring("nothing was unpacked"));
  }
  append(crate + "/SHA256SUMS", std::string(64, '0') + "  ../outside\n");
  CHECK_THROWS_WITH(OpenCrate(crate), ContainsSubstring("a line that acid does not write"));
  CHECK(fs::is_empty(temporary));
  unsetenv("TMPDIR");
}

}  // namespace acid
