// `acid resume`: the runs for which it starts a worker, and its messages about the others.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/cli/stored_run.hpp"
#include "tests/sealed.hpp"

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
  std::string id() const { return runs()[0]["id"]; }
  template <class Sign>
  acid::test::Result run_until(const Sign& sign, const std::string& option = "--fail-fast") const {
    Running running(*this, {"run", "one.toml", "--set", "budget.gradients=1000000000", "--set",
                            "checkpoint.every_time=1000", option});
    CHECK(comes_true([&] { return has_ended(running) || sign(running); }));
    kill(running.pid(), SIGINT);
    return running.wait();
  }
  // Runs until the output has these words, or the command ends.
  acid::test::Result run_until_it_says(const std::string& words) const {
    return run_until(
        [&](const Running& running) { return running.err().find(words) != std::string::npos; });
  }
  std::size_t attempts() const { return shown(id())["attempts"].size(); }
};

constexpr const char* kFiles = "acid-store/checkpoints";

}  // namespace

TEST_CASE("resume starts a worker for each interrupted run and nothing for others") {
  StoredRun bench;
  bench.attempt(RunState::interrupted, {100, 200, 300});
  const auto result = bench.call({"resume"});
  INFO(result.err);
  CHECK(result.code == 1);  // the script fails
  CHECK(bench.starts() == std::vector{"--store acid-store --run " + bench.id});
  // The worker has not read the checkpoint yet.
  CHECK_THAT(result.err, ContainsSubstring("resuming 1 interrupted run\n") &&
                             !ContainsSubstring("resuming from gradient"));
  CHECK_THAT(result.out, ContainsSubstring("ad-psgd"));  // the comparison
  bench.call({"resume", "--allow-changed"});
  CHECK_THAT(bench.starts().at(1), ContainsSubstring("--allow-changed"));
}

TEST_CASE("where a run goes on is said once its worker knows, and what the worker says of it") {
  StoredRun bench(
      "touch there\nuntil [ -e speak ]; do sleep 0.02; done\n"
      "echo 'checkpoint 3 cannot be used' >&2\nuntil [ -e go-on ]; do sleep 0.02; done\n"
      "echo 'last words' >&2\nexit 1\n");
  bench.attempt(RunState::interrupted, {100, 200, 300});
  Running running(bench, {"resume"});
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
  check_ended(refused, 3, {kFiles + ("/" + bench.id()), "put it back", "--force"});
  CHECK_THAT(refused.err, !ContainsSubstring("resuming from"));
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

TEST_CASE("a run whose record was altered is refused, and stays altered, until it is forced") {
  const Endless bench;
  const std::string& name = GENERATE("run", "resume");
  const auto [sql, what] = GENERATE(table<std::string, std::string>(
      {{"UPDATE attempts SET seeds = replace(seeds, '1', '2'), host = 'evil'", "its attempts"},
       {"UPDATE checkpoints SET seconds = seconds + 1", "its checkpoints"},
       {"INSERT INTO log (attempt, time, severity, text) VALUES (1, '2020', 'info', 'all well')",
        "its log is not as it was written"}}));
  acid::Store(bench.path("acid-store"), acid::Store::Access::write)
      .impl()
      .connection()
      .execute(sql);
  INFO(name << ": " << sql);
  const auto refused =
      name == "run" ? bench.run_until_it_says("resuming from") : bench.call({"resume"});
  check_ended(refused, 3, {what, "acid verify " + bench.id(), "--force"});
  CHECK(bench.attempts() == 1);
  CHECK(bench.call({"verify", bench.id()}).code == 4);
  CHECK(bench.call({"doctor", "--store"}).code == 3);
  const auto begun = [&](const Running&) { return bench.attempts() == 2; };
  CHECK(bench.run_until(begun, "--force").code == 130);
}

TEST_CASE("verify compares the seeds of every attempt that counts with the run's seed") {
  const Endless bench;
  bench.run_until_it_says("resuming from gradient");
  REQUIRE(bench.attempts() == 2);
  const std::string store = bench.path("acid-store");
  acid::test::write_as_acid(
      store, "UPDATE attempts SET seeds = json_set(seeds, '$.init', 1) WHERE number = 1");
  const auto found = bench.call({"verify", bench.id()});
  CHECK(found.code == 4);
  CHECK_THAT(found.out + found.err, ContainsSubstring("the seeds of attempt 1 for 'init' are not"));
}

TEST_CASE("a run that was killed, and has no seal yet, goes on whatever is noted of its end") {
  const Endless bench;
  acid::Store(bench.path("acid-store"), acid::Store::Access::write)
      .impl()
      .connection()
      .execute(
          "DELETE FROM results; DELETE FROM worker_results; DELETE FROM worker_spans;"
          "DELETE FROM edges; DELETE FROM artifacts;"
          "UPDATE attempts SET outcome = NULL, ended = NULL, seal = NULL, message = ''");
  SECTION("nothing") {}
  SECTION("by doctor") { CHECK(bench.call({"doctor", "--store", "--repair"}).code == 0); }
  SECTION("by verify") { CHECK(bench.call({"verify", bench.id()}).code == 0); }
  CHECK_THAT(bench.run_until_it_says("resuming from gradient").err,
             ContainsSubstring("resuming from gradient"));
}

TEST_CASE("a worker that dies is said to be started again from its last checkpoint") {
  StoredRun bench("kill -9 $$\n");
  bench.attempt(RunState::interrupted, {100});
  CHECK_THAT(bench.call({"resume"}).err,
             ContainsSubstring("SIGKILL; restarting from its last checkpoint (1 of 3)"));
}

TEST_CASE("resume leaves failed and planned runs alone unless they are named") {
  StoredRun bench;
  if (GENERATE(false, true)) bench.attempt(RunState::failed, {100});
  const auto result = bench.done({"resume"});
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
  const auto result = bench.done({"resume", "small", "--jobs", "2"});
  CHECK_THAT(result.err, ContainsSubstring("resuming 6 runs"));
  CHECK_THAT(result.out, ContainsSubstring("AR-SGD"));
  CHECK_THAT(bench.call({"resume"}).err, ContainsSubstring("nothing to resume"));
}

TEST_CASE("resume of what is not there names it") {
  const StoredRun bench;
  check_refused(bench.call({"resume", "nothing-like-it"}), {"nothing-like-it"});
  check_refused(bench.call({"resume", "--store", "elsewhere"}), {"elsewhere"}, 3);
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
         "--set", "budget.gradients=1000000000"});
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
    CHECK(bench.told({"list"})["runs"].at(0)["state"] == "interrupted");
  }
}

TEST_CASE("nothing is written through a symbolic link in the place of a store's folder") {
  namespace fs = std::filesystem;
  for (const bool whole : {true, false}) {
    const Bench bench("exec $REAL \"$@\"\n");
    bench.done({"run", "one.toml"});
    const std::string place =
        "acid-store/checkpoints" + (whole ? "" : "/" + bench.runs()[0]["id"].get<std::string>());
    fs::rename(bench.path(place), bench.path("elsewhere"));
    const auto files = [&] {
      fs::recursive_directory_iterator all(bench.path("elsewhere"));
      return std::ranges::count_if(all, [](const auto& entry) { return entry.is_regular_file(); });
    };
    const auto before = files();
    fs::create_directory_symlink(bench.path("elsewhere"), bench.path(place));
    check_ended(bench.one({"--force"}), 3,
                {"is a symbolic link, through which nothing is written"});
    CHECK(files() == before);
  }
}
