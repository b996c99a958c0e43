// `acid run` with workers whose process dies, that refuse, or that print messages: shell scripts
// play the worker.
#include <signal.h>

#include "tests/cli/stored_run.hpp"

using acid::test::looks_around;
using acid::test::Running;
using acid::test::StoredRun;
using acid::test::wait_for;
using Bench = acid::test::ScriptedWorker;

TEST_CASE("a worker that a signal kills is started again, and the run finishes") {
  const Bench bench("[ $n -lt 3 ] && kill -9 $$\nexec $REAL \"$@\"\n");
  const std::string err = bench.done({"run", "one.toml"}).err;
  CHECK(bench.starts().size() == 3);
  CHECK_THAT(err, ContainsSubstring("ended with SIGKILL; restarting from its beginning (1 of 3)") &&
                      ContainsSubstring("(2 of 3)") && !ContainsSubstring("(3 of 3)"));
  CHECK(bench.runs()[0]["state"] == "finished");
}

TEST_CASE("a worker that always dies is started again three times, then memory is suspected") {
  const Bench bench("echo last breath; kill -9 $$\n");
  const auto result = bench.one();
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(bench.starts().size() == 4);
  for (const char* words :
       {"(3 of 3)", "last breath", "memory", "B are available", "fewer workers"})
    CHECK_THAT(result.err, ContainsSubstring(words));
}

TEST_CASE(
    "a start that failed leaves an attempt with what its process said, and counts as failed") {
  const Bench bench(
      "[ $n = 1 ] || exec $REAL \"$@\"\necho acid-worker: error: no luck >&2; exit 1\n");
  CHECK(bench.run().code == 1);
  const auto failed = [&] { return bench.told({"list", "--state", "failed"})["runs"]; };
  REQUIRE(failed().size() == 1);
  const std::string id = failed()[0]["id"];
  const auto attempts = bench.shown(id)["attempts"];
  REQUIRE(attempts.size() == 1);
  CHECK_THAT(attempts[0]["message"].get<std::string>(),
             ContainsSubstring("it did not start: no luck"));
  bench.done({"resume", id});
  CHECK(failed().empty());
}

TEST_CASE("a worker that dies where it cannot be seen to be gone is not started for ever") {
  // As rank 0 on another host, or in a container: only the heartbeat shows whether it lives.
  StoredRun bench(
      "touch there-$n\nuntil [ -e begun-$n ] || [ $n -gt 2 ]; do sleep 0.02; done\nkill -9 $$\n");
  bench.store.impl().connection().execute(
      "UPDATE runs SET settings = json_set(settings, '$.execution.max_restarts', 1)");
  Running running(bench, {"resume", bench.id});
  for (const std::string n : {"1", "2"}) {
    wait_for(bench, "there-" + n);
    bench.store.begin_attempt(bench.id, acid::test::lease_elsewhere(), {}, {}, {});
    bench.write("begun-" + n, "");
    const std::string held = "SIGKILL; it is taken up again once process";
    CHECK(acid::test::comes_true([&] {
      return running.err().find(held, n == "2" ? running.err().find(held) + 1 : 0) !=
             std::string::npos;
    }));
    bench.store.impl().connection().execute(
        "UPDATE attempts SET heartbeat = '2000-01-01T00:00:00.000Z' WHERE outcome IS NULL");
  }
  const auto result = running.wait();
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(bench.starts().size() == 2);
  CHECK_THAT(result.err, ContainsSubstring("SIGKILL; restarting from its beginning (1 of 1)"));
  CHECK_THAT(result.err,
             ContainsSubstring("acid-worker ended with SIGKILL\n") && ContainsSubstring("memory"));
}

TEST_CASE("execution.max_restarts is how often a worker is started again") {
  const Bench bench("kill -SEGV $$\n");
  for (const std::size_t restarts : {0, 1}) {
    bench.write("starts", "");
    const std::string number = std::to_string(restarts);
    const auto result =
        bench.one({"--set", "execution.max_restarts=" + number, "--set", "seeds=[" + number + "]"});
    CHECK(result.code == 1);
    CHECK(bench.starts().size() == 1 + restarts);
    CHECK_THAT(result.err, ContainsSubstring("SIGSEGV") && !ContainsSubstring("memory"));
  }
}

TEST_CASE("a worker that ends by itself, or of our own request to stop, is not started again") {
  for (const int code : {1, 3}) {
    const Bench bench("exit " + std::to_string(code) + "\n");
    CHECK(bench.one().code == code);
    CHECK(bench.starts().size() == 1);
  }
  const Bench bench("touch there\nwhile :; do sleep 0.05; done\n");
  Running running(bench, {"run", "one.toml"});
  wait_for(bench, "there");
  kill(running.pid(), SIGTERM);
  const auto result = running.wait();
  CHECK(result.code == 130);
  CHECK_THAT(result.err, !ContainsSubstring("restarting"));
  CHECK(bench.starts().size() == 1);
}

TEST_CASE("a run that is recorded as finished is finished, whatever its worker does or says then") {
  const Bench dies("$REAL \"$@\"\nkill -9 $$\n");
  dies.done({"run", "one.toml"});
  CHECK(dies.starts().size() == 1);
  const Bench refuses("$REAL \"$@\"\necho 'acid-worker: error: held by 7' >&2\nexit 3\n");
  CHECK_THAT(refuses.done({"run", "one.toml"}).err, !ContainsSubstring("held by 7"));
}

TEST_CASE("a run whose worker is turned away since another process has it is waited for") {
  // The other process stops when acid has said that it waits, and acid takes over its run.
  const Bench bench(
      "[ $n = 2 ] && exit 1\n"
      "($REAL \"$@\" & p=$!\n"
      " i=0\n"
      " until grep -q 'is being executed by process' .output-*.err || [ $i -ge 2000 ]; do\n"
      "   sleep 0.05; i=$((i + 1))\n"
      " done\n"
      " kill $p; wait $p) > other 2>&1 &\n"
      "until $ACID list --state running --csv | grep -q ad-psgd; do sleep 0.02; done\n"
      "exec $REAL \"$@\"\n");
  const auto result = bench.call({"run", "one.toml", "--set", "budget.gradients=1000000000"});
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(bench.starts().size() == 2);
  CHECK_THAT(result.err,
             ContainsSubstring("is being executed by process") && ContainsSubstring("exit code 1"));
  CHECK_THAT(result.err, !ContainsSubstring("exit code 3"));
}

TEST_CASE("a run that diverged is done until it is forced to begin anew") {
  const Bench bench("exec $REAL \"$@\"\n");
  std::vector<std::string> fast{"--set", "optimizer.learning_rate=1e200"};
  REQUIRE_THAT(bench.one(fast).err, ContainsSubstring("diverged"));
  const auto again = bench.one(fast);
  INFO(again.err);
  CHECK(again.code == 1);
  CHECK_THAT(again.err,
             ContainsSubstring("1 of 1 runs already diverged (--force runs them again)"));
  CHECK_THAT(again.out, ContainsSubstring("1 of 1 runs diverged (seed"));
  CHECK(bench.starts().size() == 1);
  for (const char* picture : {"report", "figure"}) {
    const auto refused = bench.call({picture});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, ContainsSubstring("none of the 1 run has finished (1 diverged)"));
  }
  fast.push_back("--force");
  CHECK(bench.one(fast).code == 1);
  CHECK(bench.starts().size() == 2);
}

TEST_CASE("what a worker says although it ends well is shown with its run") {
  const Bench bench(
      "echo 'checkpoint 7 is damaged; checkpoint 6 is used' >&2\nexec $REAL \"$@\"\n");
  const auto result = bench.done({"run", "one.toml"});
  CHECK_THAT(result.err, ContainsSubstring("(ad-psgd, seed 1): checkpoint 7 is damaged"));
  CHECK_THAT(result.out, !ContainsSubstring("damaged"));
}

TEST_CASE(
    "a worker's refusal is shown as it stands, the other runs go on, and the exit code is 2") {
  const Bench bench(
      "[ $n = 1 ] || exec $REAL \"$@\"\necho 'acid-worker: error: acid has changed:' >&2\n"
      "echo '  program: then aaaa, now bbbb' >&2\nexit 2\n");
  const auto result = bench.run();
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK_THAT(result.err,
             ContainsSubstring("was not started: acid has changed:\n  program: then aaaa") &&
                 !ContainsSubstring("exit code"));
  CHECK(bench.told({"list", "--state", "finished"})["runs"].size() == 5);
}

TEST_CASE("a worker that somebody else stops leaves a run that can be resumed, and 130") {
  const Bench bench("[ $n = 1 ] && exit 130\nexec $REAL \"$@\"\n");
  const auto result = bench.run();
  CHECK(result.code == 130);
  CHECK_THAT(result.err, ContainsSubstring("from elsewhere; 'acid resume "));
  CHECK_THAT(result.out, ContainsSubstring("AD-PSGD"));  // the others are compared
}

TEST_CASE("the options --force and --allow-changed reach the worker") {
  const Bench bench("exit 1\n");
  bench.one({"--force"});
  bench.one({"--allow-changed"});
  REQUIRE(bench.starts().size() == 2);
  CHECK_THAT(bench.starts()[0],
             ContainsSubstring("--fresh") && !ContainsSubstring("--allow-changed"));
  CHECK_THAT(bench.starts()[1],
             ContainsSubstring("--allow-changed") && !ContainsSubstring("--fresh"));
}

TEST_CASE("an interrupted --force says which runs it has not begun again") {
  const Bench bench(
      "if [ $n != 8 ]; then exec $REAL $ALONE; fi\n"
      "trap 'exit 130' TERM\ntouch there\nwhile :; do sleep 0.05; done\n");
  REQUIRE(bench.run().code == 0);
  Running running(bench, {"run", "small.toml", "--force"});
  wait_for(bench, "there");
  std::string expected =
      "interrupted: 1 of 6 runs finished and kept; 5 were not begun again and stay as they were: "
      "for those it takes --force, which begins all runs again\n";
  SECTION("all but the one that has finished") {}
  SECTION("apart from one that has begun") {
    const std::string start = bench.starts().back();
    acid::Store store(bench.path("acid-store"), acid::Store::Access::write);
    store.begin_attempt(start.substr(start.find("--run ") + 6, 12), acid::Lease::of_this_process(),
                        {}, {}, {});
    CHECK(looks_around(running.pid()));
    expected.replace(expected.find('5'), 1, "4");
    expected.insert(expected.size() - 1,
                    "; the same command without --force goes on with the others");
  }
  kill(running.pid(), SIGINT);
  const auto result = running.wait();
  CHECK(result.code == 130);
  CHECK_THAT(result.err, ContainsSubstring(expected));
}

TEST_CASE("a run begun anew that dies is continued, unless it died before it began") {
  // The first process dies before an attempt exists, the second after that.
  const Bench bench(
      "[ $n = 1 ] && kill -9 $$\n"
      "if [ $n = 2 ]; then\n"
      "  $REAL \"$@\" &\n"
      "  until $ACID list --state running --csv | grep -q ad-psgd; do sleep 0.02; done\n"
      "  kill -9 $!; kill -9 $$\n"
      "fi\n"
      "exit 1\n");
  const auto result =
      bench.call({"run", "one.toml", "--force", "--set", "budget.gradients=1000000000"});
  INFO(result.err);
  REQUIRE(bench.starts().size() == 3);
  CHECK_THAT(bench.starts()[1], ContainsSubstring("--fresh"));
  CHECK_THAT(bench.starts()[2], !ContainsSubstring("--fresh"));
}
