// `acid resume`: which runs it starts a worker for, and what it says about the others.
#include "tests/cli/stored_run.hpp"

using acid::RunState;
using acid::test::StoredRun;
using Bench = acid::test::ScriptedWorker;
using Catch::Matchers::Contains;

TEST_CASE("resume starts a worker for each interrupted run, which goes on from its checkpoint") {
  StoredRun bench;
  bench.attempt(RunState::interrupted, {100, 200, 300});
  const auto result = bench.call({"resume"});
  INFO(result.err);
  CHECK(result.code == 1);  // The script fails.
  REQUIRE(bench.starts().size() == 1);
  CHECK(bench.starts()[0] == "--store acid-store --run " + bench.id);
  CHECK_THAT(result.err, Contains("resuming 1 interrupted run\n"));
  CHECK_THAT(result.err, Contains("(ad-psgd, seed 1): resuming from gradient 300 of 1000"));
  CHECK_THAT(result.out, Contains("ad-psgd"));  // The comparison.
}

TEST_CASE("run says from where it continues, too, and not when it is forced to begin anew") {
  const Bench bench(
      "[ $n = 2 ] && exit 1\n"
      R"(
$REAL "$@" & p=$!
until ls acid-store/checkpoints/*/* > made 2>&1; do sleep 0.02; done
sleep 0.3; kill -TERM $p; wait $p; exit 130
)");
  const std::vector<std::string> call{"run",   "one.toml",
                                      "--set", "budget.gradients=1000000000",
                                      "--set", "checkpoint.every_time=1000"};
  CHECK(bench.call(call).code == 130);
  CHECK_THAT(bench.call(call).err, Contains("resuming from gradient"));
  auto forced = call;
  forced.push_back("--force");
  bench.write("starts", "one before\n");
  CHECK_THAT(bench.call(forced).err, !Contains("resuming from gradient"));
}

TEST_CASE("a worker that dies is said to be started again from its last checkpoint") {
  StoredRun bench("kill -9 $$\n");
  bench.attempt(RunState::interrupted, {100});
  CHECK_THAT(bench.call({"resume"}).err,
             Contains("SIGKILL; restarting from its last checkpoint (1 of 3)"));
}

TEST_CASE("resume passes --allow-changed on") {
  StoredRun bench;
  bench.attempt(RunState::interrupted, {});
  bench.call({"resume", "--allow-changed"});
  REQUIRE(bench.starts().size() == 1);
  CHECK_THAT(bench.starts()[0], Contains("--allow-changed"));
}

TEST_CASE("resume leaves failed and planned runs alone unless they are named") {
  StoredRun bench;
  if (GENERATE(false, true)) bench.attempt(RunState::failed, {100});
  const auto result = bench.call({"resume"});
  CHECK(result.code == 0);
  CHECK_THAT(result.err, Contains("only when named") && Contains("nothing to resume"));
  CHECK(result.out.empty());
  CHECK(bench.starts().empty());
  bench.call({"resume", bench.id.substr(0, 6)});
  CHECK(bench.starts().size() == 1);
}

TEST_CASE("resume says why a run that was named is not resumed, and that is no error") {
  StoredRun bench;
  SECTION("finished") {
    bench.attempt(RunState::finished, {100});
    CHECK_THAT(bench.call({"resume", bench.id}).err, Contains("seed 1) finished already"));
  }
  SECTION("diverged") {
    bench.attempt(RunState::diverged, {100});
    CHECK_THAT(bench.call({"resume", "test"}).err, Contains("diverged and would again"));
  }
  SECTION("being executed, by this very process") {
    acid::test::begin(bench.store, bench.id);
    CHECK_THAT(bench.call({"resume", "@latest"}).err, Contains("is being executed already"));
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
  CHECK_THAT(result.err, Contains("resuming 6 runs"));
  CHECK_THAT(result.out, Contains("AR-SGD"));
  CHECK_THAT(bench.call({"resume"}).err, Contains("nothing to resume"));
}

TEST_CASE("resume of what is not there names it") {
  const StoredRun bench;
  const auto unknown = bench.call({"resume", "nothing-like-it"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Contains("nothing-like-it"));
  const auto nowhere = bench.call({"resume", "--store", "elsewhere"});
  CHECK(nowhere.code == 3);
  CHECK_THAT(nowhere.err, Contains("elsewhere"));
  CHECK_FALSE(bench.has("elsewhere"));
}
