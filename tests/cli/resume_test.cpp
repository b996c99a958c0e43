// `acid resume`: the runs for which it starts a worker, and its messages about the others.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/cli/stored_run.hpp"

using acid::RunState;
using acid::test::comes_true;
using acid::test::Running;
using acid::test::StoredRun;
using Bench = acid::test::ScriptedWorker;
using acid::test::wait_for;

namespace {

// A run of the real worker that would never end. The test acts once the run has saved a checkpoint
// and was interrupted.
struct Endless : Bench {
  Endless() : Bench("exec $REAL \"$@\"\n") {
    const auto saved = [&](const Running&) {
      return call({"list", "--json"}).out.find("\"running\"") != std::string::npos &&
             !acid::checkpoints_of(acid::Store(path("acid-store"), acid::Store::Access::read), id())
                  .empty();
    };
    REQUIRE(run_until(saved).code == 130);
  }
  std::string id() const { return call({"list", "--json"}).json()["runs"][0]["id"]; }
  template <class Sign>
  acid::test::Result run_until(const Sign& sign, const std::string& option = "--fail-fast") const {
    Running running(*this,
                    {"run", "one.toml", "--set", "budget.gradients=1000000000", "--set",
                     "checkpoint.every_time=1000", option},
                    {worker});
    CHECK(comes_true([&] { return has_ended(running) || sign(running); }));
    kill(running.pid(), SIGINT);
    return running.wait();
  }
  // Runs until the output has these words, or the command ends.
  acid::test::Result run_until_it_says(const std::string& words) const {
    return run_until(
        [&](const Running& running) { return running.err().find(words) != std::string::npos; });
  }
  std::size_t attempts() const { return call({"show", id(), "--json"}).json()["attempts"].size(); }
};

constexpr const char* kFiles = "acid-store/checkpoints";

}  // namespace

TEST_CASE("resume starts a worker for each interrupted run and nothing for others") {
  StoredRun bench;
  bench.attempt(RunState::interrupted, {100, 200, 300});
  const auto result = bench.call({"resume"});
  INFO(result.err);
  CHECK(result.code == 1);  // the script fails
  REQUIRE(bench.starts().size() == 1);
  CHECK(bench.starts()[0] == "--store acid-store --run " + bench.id);
  CHECK_THAT(result.err, ContainsSubstring("resuming 1 interrupted run\n"));
  // The worker has not read the checkpoint yet.
  CHECK_THAT(result.err, !ContainsSubstring("resuming from gradient"));
  CHECK_THAT(result.out, ContainsSubstring("ad-psgd"));  // the comparison
}

TEST_CASE("where a run goes on is said once its worker knows, and what the worker says of it") {
  StoredRun bench(
      "touch there\nuntil [ -e speak ]; do sleep 0.02; done\n"
      "echo 'checkpoint 3 cannot be used' >&2\nuntil [ -e go-on ]; do sleep 0.02; done\n"
      "echo 'last words' >&2\nexit 1\n");
  bench.attempt(RunState::interrupted, {100, 200, 300});
  Running running(bench, {"resume"}, {bench.worker});
  wait_for(bench, "there");
  CHECK(acid::test::looks_around(running.pid()));
  CHECK_THAT(running.err(), !ContainsSubstring("resuming from"));
  const std::int64_t attempt = bench.store.begin_attempt(bench.id, acid::Lease::of_this_process(),
                                                         {}, {}, {}, bench.from(2));
  const auto says = [&](const std::string& words) {
    return comes_true([&] { return running.err().find(words) != std::string::npos; });
  };
  CHECK(says("(ad-psgd, seed 1): resuming from gradient 200 of 1000"));
  CHECK(acid::test::looks_around(running.pid()));  // and finds no message yet
  bench.write("speak", "");
  CHECK(says("checkpoint 3 cannot be used"));
  bench.store.end_attempt(attempt, acid::test::ended_as(RunState::failed));
  bench.write("go-on", "");
  const std::string err = running.wait().err;
  INFO(err);
  CHECK_THAT(err, ContainsSubstring("its last words:\nlast words"));
  CHECK(err.find("cannot be used") == err.rfind("cannot be used"));
  CHECK(err.find("resuming from") == err.rfind("resuming from"));
}

TEST_CASE("run says from where it continues, too, and not when it is forced to begin anew") {
  const Endless bench;
  CHECK_THAT(bench.run_until_it_says("resuming from gradient").err,
             ContainsSubstring("resuming from gradient"));
  CHECK(bench.attempts() == 2);
  const auto begun = [&](const Running&) { return bench.attempts() == 3; };
  CHECK_THAT(bench.run_until(begun, "--force").err, !ContainsSubstring("resuming from gradient"));
}

TEST_CASE("a run whose checkpoints were moved away is refused until they are back") {
  const Endless bench;
  std::filesystem::rename(bench.path(kFiles), bench.path("away"));
  const auto refused = bench.run_until_it_says("starting again");
  INFO(refused.err);
  CHECK(refused.code == 3);
  CHECK_THAT(refused.err,
             ContainsSubstring(kFiles + ("/" + bench.id())) && ContainsSubstring("put it back"));
  CHECK_THAT(refused.err, ContainsSubstring("--force") && !ContainsSubstring("resuming from"));
  CHECK(bench.attempts() == 1);
  SECTION("as they were") {}
  SECTION("although they were noted as let go of") {
    acid::Store(bench.path("acid-store"), acid::Store::Access::write)
        .impl()
        .connection()
        .execute("UPDATE checkpoints SET removed = created");
  }
  std::filesystem::rename(bench.path("away"), bench.path(kFiles));
  const auto resumed = bench.run_until_it_says("resuming from gradient");
  CHECK_THAT(resumed.err,
             ContainsSubstring("resuming from gradient") && !ContainsSubstring("cannot be used"));
}

TEST_CASE("a run whose checkpoints are all damaged begins again, and that is said at once") {
  const Endless bench;
  for (const auto& file : std::filesystem::recursive_directory_iterator(bench.path(kFiles)))
    if (file.is_regular_file()) std::filesystem::resize_file(file.path(), 100);
  const auto again = bench.run_until_it_says("starting again");
  CHECK(again.code == 130);
  CHECK_THAT(again.err, ContainsSubstring("cannot be used") && !ContainsSubstring("resuming from"));
  CHECK(again.err.find("starting again") == again.err.rfind("starting again"));
}

TEST_CASE("a worker that dies is said to be started again from its last checkpoint") {
  StoredRun bench("kill -9 $$\n");
  bench.attempt(RunState::interrupted, {100});
  CHECK_THAT(bench.call({"resume"}).err,
             ContainsSubstring("SIGKILL; restarting from its last checkpoint (1 of 3)"));
}

TEST_CASE("resume passes --allow-changed on") {
  StoredRun bench;
  bench.attempt(RunState::interrupted, {});
  bench.call({"resume", "--allow-changed"});
  REQUIRE(bench.starts().size() == 1);
  CHECK_THAT(bench.starts()[0], ContainsSubstring("--allow-changed"));
}

TEST_CASE("resume leaves failed and planned runs alone unless they are named") {
  StoredRun bench;
  if (GENERATE(false, true)) bench.attempt(RunState::failed, {100});
  const auto result = bench.call({"resume"});
  CHECK(result.code == 0);
  CHECK_THAT(result.err,
             ContainsSubstring("only when named") && ContainsSubstring("nothing to resume"));
  CHECK(result.out.empty());
  CHECK(bench.starts().empty());
  bench.call({"resume", bench.id.substr(0, 6)});
  CHECK(bench.starts().size() == 1);
}

TEST_CASE("resume says why a run that was named is not resumed, and that is no error") {
  StoredRun bench;
  SECTION("finished") {
    bench.attempt(RunState::finished, {100});
    CHECK_THAT(bench.call({"resume", bench.id}).err, ContainsSubstring("seed 1) finished already"));
  }
  SECTION("diverged") {
    bench.attempt(RunState::diverged, {100});
    CHECK_THAT(bench.call({"resume", "test"}).err, ContainsSubstring("diverged and would again"));
  }
  SECTION("being executed, by this very process") {
    acid::test::begin(bench.store, bench.id);
    CHECK_THAT(bench.call({"resume", "@latest"}).err,
               ContainsSubstring("is being executed already"));
  }
  CHECK(bench.call({"resume", bench.id}).code == 0);
  CHECK(bench.starts().empty());
}

TEST_CASE("resume executes planned runs that are named to their end") {
  const Bench bench("[ $n -le 6 ] && exit 1\nexec $REAL \"$@\"\n");
  REQUIRE(bench.run().code == 1);
  const auto result = bench.call({"resume", "small", "--jobs", "2"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, ContainsSubstring("resuming 6 runs"));
  CHECK_THAT(result.out, ContainsSubstring("AR-SGD"));
  CHECK_THAT(bench.call({"resume"}).err, ContainsSubstring("nothing to resume"));
}

TEST_CASE("resume of what is not there names it") {
  const StoredRun bench;
  const auto unknown = bench.call({"resume", "nothing-like-it"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("nothing-like-it"));
  const auto nowhere = bench.call({"resume", "--store", "elsewhere"});
  CHECK(nowhere.code == 3);
  CHECK_THAT(nowhere.err, ContainsSubstring("elsewhere"));
  CHECK_FALSE(bench.has("elsewhere"));
}

TEST_CASE("a worker that sleeps long hears a stop at once, and saves what it has") {
  for (const auto& [algorithm, driver] : {std::pair{"ad-psgd", "threads"},
                                          {"d-psgd", "threads"},
                                          {"ad-psgd", "mpi"},
                                          {"d-psgd", "mpi"}}) {
    if (driver == std::string("mpi") && !acid::test::there_is_mpi()) continue;
    const Bench bench("exec $REAL \"$@\"\n");
    Running running(
        bench,
        {"run", "one.toml", "--set", "algorithms=[{kind=\"" + std::string(algorithm) + "\"}]",
         "--driver", driver, "--set", fmt::format("execution.{}.slow_workers={{0=1e9}}", driver),
         "--set", "budget.gradients=1000000000"},
        {bench.worker});
    CHECK(comes_true([&] {
      return has_ended(running) ||
             bench.call({"list", "--json"}).out.find("\"running\"") != std::string::npos;
    }));
    std::this_thread::sleep_for(std::chrono::seconds(1));  // it has fallen asleep
    const auto asked = std::chrono::steady_clock::now();
    kill(running.pid(), SIGINT);
    const auto result = running.wait();
    INFO(algorithm << " on " << driver << ": " << result.err);
    CHECK(result.code == 130);
    CHECK(std::chrono::steady_clock::now() - asked < std::chrono::seconds(20));
    CHECK(bench.call({"list", "--json"}).json()["runs"].at(0)["state"] == "interrupted");
  }
}

TEST_CASE("nothing is written through a symbolic link in the place of a store's folder") {
  for (const bool whole : {true, false}) {
    const Bench bench("exec $REAL \"$@\"\n");
    REQUIRE(bench.call({"run", "one.toml"}).code == 0);
    const std::string id = bench.call({"list", "--json"}).json()["runs"][0]["id"];
    const std::string place = "acid-store/checkpoints" + (whole ? "" : "/" + id);
    std::filesystem::rename(bench.path(place), bench.path("elsewhere"));
    const auto files = [&] {
      std::size_t count = 0;
      for (const auto& entry :
           std::filesystem::recursive_directory_iterator(bench.path("elsewhere")))
        count += entry.is_regular_file();
      return count;
    };
    const std::size_t before = files();
    std::filesystem::create_directory_symlink(bench.path("elsewhere"), bench.path(place));
    const auto result = bench.call({"run", "one.toml", "--force"});
    INFO(result.err);
    CHECK(result.code == 3);
    CHECK_THAT(result.err,
               ContainsSubstring("is a symbolic link, through which nothing is written"));
    CHECK(files() == before);
  }
}
