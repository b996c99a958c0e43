// `acid doctor --store` and `acid gc`: their messages about a store, and the state in which they
// leave it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/processes/touching.hpp"
#include "tests/cli/stored_run.hpp"
#include "tests/waiting.hpp"

namespace fs = std::filesystem;
using acid::RunState;
using acid::test::StoredRun;

namespace {

// A finished run with two attempts, and a file that no row names any more.
struct Untidy : StoredRun {
  Untidy() {
    attempt(RunState::finished, {});
    orphan();
  }
  void orphan() const {
    const fs::path folder = fs::path(path("acid-store")) / "checkpoints" / id;
    fs::create_directories(folder);
    const std::string file = write("acid-store/checkpoints/" + id + "/9.safetensors", "orphan");
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  bool has_orphan() const { return has("acid-store/checkpoints/" + id + "/9.safetensors"); }
};

}  // namespace

TEST_CASE("doctor --store calls a sound store sound, wherever it is named") {
  StoredRun bench;
  bench.attempt(RunState::finished, {});
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"doctor", "--store"},
                                                    {"doctor", "--store", "acid-store"},
                                                    {"doctor", "--store=acid-store"},
                                                    {"doctor", "--store", "--repair"},
                                                    {"doctor", "--repair"}})
    CHECK_THAT(bench.done(arguments).out, ContainsSubstring("the store acid-store is sound"));
  const auto document = bench.told({"doctor", "--store"});
  CHECK(document["sound"] == true);
  CHECK(document["findings"].empty());
}

TEST_CASE("doctor --store finds what is wrong, and mends it where it is asked to") {
  const Untidy bench;
  const auto found = bench.call({"doctor", "--store"});
  CHECK(found.code == 3);
  CHECK_THAT(found.out, ContainsSubstring("9.safetensors"));
  CHECK_THAT(found.err, ContainsSubstring("--repair"));
  const auto document = bench.call({"doctor", "--store", "acid-store", "--json"}).json();
  CHECK(document["sound"] == false);
  REQUIRE(document["findings"].size() == 1);
  CHECK(document["findings"][0]["repairable"] == true);
  CHECK_FALSE(document["findings"][0]["remedy"].get<std::string>().empty());
  CHECK(bench.has_orphan());
  CHECK_THAT(bench.done({"doctor", "--store", "--repair"}).out,
             ContainsSubstring("repaired") && ContainsSubstring("is sound"));
  CHECK_FALSE(bench.has_orphan());
  bench.orphan();
  const auto repaired = bench.told({"doctor", "--store", "--repair"});
  CHECK(repaired["sound"] == true);
  CHECK(repaired["repaired"].size() == 1);
  CHECK_FALSE(bench.has_orphan());
}

TEST_CASE("gc says what can go, why and how much it is, and --dry-run leaves it") {
  const Untidy bench;
  CHECK_THAT(bench.done({"gc", "--dry-run"}).out,
             ContainsSubstring("9.safetensors") && ContainsSubstring("6 B") &&
                 ContainsSubstring("would be removed: 1 file of 6 B"));
  const auto dry = bench.told({"gc", "--dry-run"});
  CHECK(dry["removed"] == false);
  CHECK(dry["bytes"] == 6);
  REQUIRE(dry["files"].size() == 1);
  CHECK(dry["files"][0]["path"] == "checkpoints/" + bench.id + "/9.safetensors");
  CHECK_FALSE(dry["files"][0]["why"].get<std::string>().empty());
  CHECK((dry["superseded_points"].is_number() && dry["superseded_events"].is_number()));
  CHECK(bench.has_orphan());
  CHECK_THAT(bench.done({"gc"}).out, ContainsSubstring("\nremoved: 1 file of 6 B"));
  CHECK_FALSE(bench.has_orphan());
  CHECK_THAT(bench.call({"gc"}).out, ContainsSubstring("nothing that could go"));
  bench.orphan();
  CHECK(bench.told({"gc"})["removed"] == true);
  CHECK_FALSE(bench.has_orphan());
}

TEST_CASE("gc removes the checkpoints of finished runs unless they are to be kept") {
  StoredRun bench;
  const std::string file = "acid-store/checkpoints/" + bench.id + "/100.safetensors";
  fs::create_directories(fs::path(bench.path(file)).parent_path());
  bench.write(file, "checkpoint");
  bench.attempt(RunState::finished, {100});
  bench.done({"gc", "--keep-checkpoints"});
  CHECK(bench.has(file));
  bench.done({"gc"});
  CHECK_FALSE(bench.has(file));
  CHECK(bench.shown(bench.id)["checkpoints"][0]["removed"] == true);
}

TEST_CASE("gc frees a disk that is full to the last byte") {
  StoredRun bench;
  const std::string file = "checkpoints/" + bench.id + "/100.safetensors";
  fs::create_directories(fs::path(bench.path("acid-store/" + file)).parent_path());
  bench.write("acid-store/" + file, std::string(100'000, 'x'));
  bench.attempt(RunState::finished, {100});
  bench.write("fill",
              "mkdir full && mount -t tmpfs -o size=4m none full || exit 77\n"
              "cp -a acid-store/. full\n"
              "dd if=/dev/zero of=full/rest bs=4k 2> dd-says\n" BINARY_ROOT
              "/acid gc --store full > out 2> err; code=$?\n"
              "ls full/checkpoints/* > left 2>&1; exit $code\n");
  const int status =
      std::system(("cd '" + bench.path() + "' && unshare -rm sh fill 2> mount-says").c_str());
  if (bench.read("out").empty() && bench.read("err").empty()) {
    WARN("no mounts here: gc on a full disk is only played: " + bench.read("mount-says"));
    return;
  }
  INFO(bench.read("err"));
  CHECK(status == 0);
  CHECK_THAT(bench.read("dd-says"), ContainsSubstring("No space left"));
  CHECK_THAT(bench.read("out"), ContainsSubstring("removed: 1 file of 100 kB"));
  CHECK_THAT(bench.read("left"), !ContainsSubstring("100.safetensors"));
}

TEST_CASE("remove shows tags, notes, overrides, and what else has the name, before it asks") {
  StoredRun bench;
  acid::ExperimentRecord older = acid::test::make_experiment("test"), other = older;
  other.overrides = {"workers.count=32"};
  other.id = "0123456789ab";
  bench.store.add_experiment(other, {acid::test::make_run(5)});
  bench.done({"tag", other.id, "--add", "final", "--note", "the paper's"});
  const std::vector<std::string> command{"remove", other.id, "--dry-run"};
  CHECK_THAT(bench.done(command).out,
             ContainsSubstring("0123456789ab (test, asked for ") &&
                 ContainsSubstring(" --set workers.count=32)") &&
                 ContainsSubstring("tags of test: final\n") &&
                 ContainsSubstring(": the paper's\n") &&
                 ContainsSubstring("stays     1 experiment of the same name: " + older.id));
  const auto told = bench.told(command);
  CHECK(told["going"][0]["overrides"][0] == "workers.count=32");
  CHECK(told["same_name"][0]["id"] == older.id);
  CHECK(told["tagged"][0]["tags"][0] == "final");
  const std::string plain = bench.done({"remove", bench.id, "--dry-run"}).out;
  CHECK_THAT(plain,
             !ContainsSubstring("tags of") && ContainsSubstring("of the same name: " + other.id));
}

TEST_CASE("tag says that notes were removed, and list keeps the experiments that have a tag") {
  StoredRun bench;
  bench.store.add_experiment(acid::test::make_experiment("other"), {acid::test::make_run(5)});
  bench.done({"tag", "other", "--add", "final", "--add", "paper", "--note", "first"});
  bench.done({"tag", bench.id, "--add", "final"});  // of a run: not of its experiment
  const auto names = [&](std::vector<std::string> tags) {
    std::vector<std::string> arguments{"list", "--experiments"};
    for (std::string& tag : tags) arguments.insert(arguments.end(), {"--tag", std::move(tag)});
    std::string all;
    const auto told = bench.told(arguments);
    for (const auto& one : told["experiments"]) all += one["name"].get<std::string>() + " ";
    return all;
  };
  CHECK(names({}) == "other test ");
  CHECK(names({"final"}) == "other ");
  CHECK(names({"final", "paper"}) == "other ");
  CHECK(names({"final", "none"}).empty());
  CHECK_THAT(bench.done({"list", "--experiments", "--tag", "none"}).err,
             ContainsSubstring("no experiments match"));
  CHECK(bench.call({"list", "--experiments", "--tag", "two words"}).code == 2);
  CHECK(bench.call({"tag", "other", "--note", "a\x1b[2Jb"}).code == 2);
  CHECK_THAT(bench.done({"tag", "other", "--note", ""}).err, ContainsSubstring("1 note removed"));
  const auto again = bench.done({"tag", "other", "--note", ""});
  CHECK_THAT(again.err, ContainsSubstring("there was no note to remove"));
  CHECK(again.out == "experiment " + acid::test::make_experiment("other").id + ": final paper\n");
}

TEST_CASE("a sign of life is given as long as it is to be") {
  const acid::test::Folder folder;
  const std::string file = folder.write("sign", "");
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  const auto is_new = [&] { return fs::last_write_time(file) > old + std::chrono::minutes(1); };
  {
    const acid::Touching sign(file, 0.01);
    for (int k = 0; k < 3; ++k) {
      fs::last_write_time(file, old);
      CHECK(acid::test::comes_true(is_new));
    }
  }
  fs::remove(file);
  { const acid::Touching none(file, 0.01); }
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("a merge that is refused leaves no new store, and one that is not makes it") {
  StoredRun bench;
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(bench.path()))
      if (const std::string name = entry.path().filename(); !name.starts_with(".output-"))
        names.push_back(name);
    std::ranges::sort(names);
    return names;
  };
  const auto before = files();
  // This process executes the run.
  const std::int64_t number =
      bench.store.begin_attempt(bench.id, acid::Lease::of_this_process(), {}, {}, {});
  check_refused(bench.call({"merge", "acid-store", "--store", "new"}),
                {"executes run", "nothing was merged"}, 3);
  check_refused(bench.call({"merge", "acid-store", "--store", "far/away/"}), {"executes run"}, 3);
  CHECK(files() == before);
  acid::AttemptResult result;
  result.state = RunState::interrupted;
  bench.store.end_attempt(number, result);
  fs::create_directories(bench.path("kept"));
  for (const char* store : {"new", "far/away/", "kept"}) {
    CHECK_THAT(bench.done({"merge", "acid-store", "--store", store}).out,
               ContainsSubstring("1 run that this store did not have"));
    CHECK(bench.told({"list", "--store", store})["runs"].size() == 1);
  }
  CHECK_THAT(bench.done({"merge", "acid-store", "--store", "new"}).out,
             ContainsSubstring("1 unchanged"));
  CHECK(files().size() == before.size() + 3);
}
