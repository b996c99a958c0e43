// `acid run` with worker processes that misbehave: shell scripts play the worker.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "store/impl.hpp"
#include "tests/cli/scripted_worker.hpp"

using acid::test::looks_around;
using acid::test::Running;
using acid::test::wait_for;
using Bench = acid::test::ScriptedWorker;

TEST_CASE("a worker gets the store and a run id alone, and only its last words reach us") {
  const Bench bench("cat >> input; echo noise; echo out of luck >&2; exit 1\n");
  const auto result = bench.run();
  CHECK(result.code == 1);
  CHECK_THAT(result.err, ContainsSubstring("out of luck"));
  CHECK_THAT(result.out, !ContainsSubstring("noise"));
  CHECK(bench.starts().size() == 6);  // the other runs go on
  for (const std::string& start : bench.starts())
    CHECK_THAT(start, Matches("--store acid-store --run [0-9a-f]{12}( --more)?"));
  CHECK(bench.read("input").empty());
  bench.write("starts", "");
  CHECK(bench.run({"--fail-fast", "--force"}).code == 1);
  CHECK(bench.starts().size() == 1);
}

TEST_CASE("runs that never began are not verified, and that is said once") {
  const Bench bench("[ $n -gt 1 ] && exit 1\nexec $REAL $ALONE\n");
  bench.run({"--jobs", "1"});
  const auto some = bench.call({"verify", "@latest"});
  INFO(some.err);
  CHECK_THAT(some.err, ContainsSubstring("5 of 6 runs left out: not begun yet"));
  CHECK(bench.starts().size() == 7);
}

TEST_CASE("a worker that cannot be started fails its run, and the others go on") {
  const Bench bench("rm worker\nexec $REAL $ALONE\n");
  const auto result = bench.run();
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(acid::test::count_of("was not started: cannot start", result.err) == 5);
  CHECK_THAT(result.err,
             ContainsSubstring("see that it is there and can be executed, then 'acid resume "));
  CHECK(bench.told({"list", "--state", "finished"})["runs"].size() == 1);
}

TEST_CASE("an error of the command itself lets the workers save, and progress alone is no error") {
  const Bench bench(
      "mkdir first 2> made || me=2\n"
      "trap 'sleep 0.5; touch saved-$me; exit 130' TERM\n"
      "touch there-$me\n"
      "while [ \"$me\" ] || [ ! -e go-on ]; do sleep 0.05; done\n");
  Running running(bench, {"run", "small.toml", "--jobs", "2"});
  wait_for(bench, "there-");
  wait_for(bench, "there-2");
  acid::Store(bench.path("acid-store"), acid::Store::Access::write)
      .impl()
      .connection()
      .execute("DROP VIEW run_list");
  CHECK(looks_around(running.pid()));
  CHECK_FALSE(bench.has("saved-2"));
  bench.write("go-on", "");
  const auto result = running.wait();
  INFO(result.err);
  CHECK(result.code == 3);
  CHECK(bench.has("saved-2"));
  CHECK_THAT(result.err,
             ContainsSubstring("1 worker under way may save") && ContainsSubstring("run_list"));
}

TEST_CASE("a worker whose acid has died before it looks stops like at a signal") {
  const Bench bench("exit 1\n");
  REQUIRE(bench.call({"run", "one.toml"}).code == 1);
  const auto id = bench.told({"list"})["runs"][0]["id"].get<std::string>();
  const auto code = [&](const std::string& supervisor) {
    const std::string line = "cd " + bench.path() + "; ACID_PARENT_PID=" + supervisor +
                             " " BINARY_ROOT "/acid-worker --store acid-store --run " + id;
    return WEXITSTATUS(std::system(line.c_str()));
  };
  CHECK(code("999999999") == 130);           // there is no such process
  CHECK(code("$(sh -c 'echo $$')") == 130);  // it has ended
  // A grandparent that lives.
  CHECK(code(std::to_string(getpid())) == 0);
}

TEST_CASE("SIGINT stops the workers, is not passed to them as such, and exits with 130") {
  const Bench bench(
      "trap 'echo stopped > stopped; exit 130' TERM\ntrap 'echo hit > hit' INT\ntouch there\n"
      "while :; do sleep 0.05; done\n");
  Running running(bench, {"run", "small.toml"});
  wait_for(bench, "there");
  kill(running.pid(), SIGINT);
  check_refused(running.wait(), {"interrupted"}, 130);
  CHECK(bench.has("stopped"));
  CHECK_FALSE(bench.has("hit"));
}

TEST_CASE("a second SIGINT kills workers that do not stop") {
  const Bench bench("trap '' TERM INT\ntouch there\nwhile :; do sleep 0.05; done\n");
  Running running(bench, {"run", "small.toml"});
  wait_for(bench, "there");
  // Two signals that come before acid looks count as one, so signals are sent until acid has ended.
  std::atomic<bool> over = false;
  std::thread asking([&] {
    for (; !over; std::this_thread::sleep_for(std::chrono::milliseconds(300)))
      kill(running.pid(), SIGINT);
  });
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(running.pid()), &ended, WEXITED | WNOWAIT);
  over = true;
  asking.join();
  CHECK(running.wait().code == 130);
}

TEST_CASE("the option --jobs starts that many workers at a time and no more") {
  // Each worker notes for a while how many there are, and until one has seen another.
  const Bench bench(
      "touch alive-$$\n"
      "i=0\n"
      "until [ $i -ge 20 ] && { grep -q 2 counts || [ $i -ge 1000 ]; }; do\n"
      "  ls alive-* | wc -l >> counts; sleep 0.02; i=$((i + 1))\n"
      "done\n"
      "rm alive-$$; exit 1\n");
  bench.run({"--jobs", "2"});
  const std::string counts = bench.read("counts");
  CHECK_THAT(counts, ContainsSubstring("2"));
  CHECK_THAT(counts, !ContainsSubstring("3"));
}

TEST_CASE("a hang-up stops the workers like SIGINT, but not under nohup") {
  const Bench bench(
      "trap 'exit 130' TERM\ntouch there\nwhile [ ! -e go-on ]; do sleep 0.05; done\n"
      "exit 1\n");
  SECTION("with the terminal it goes") {
    Running running(bench, {"run", "one.toml"});
    wait_for(bench, "there");
    kill(running.pid(), SIGHUP);
    CHECK(running.wait().code == 130);
  }
  SECTION("with nohup it stays") {
    // The shell becomes acid, which keeps the shell's process id.
    std::thread command([&] {
      const std::string line = "cd " + bench.path() + "; trap '' HUP; echo $$ > pid; " +
                               bench.environment[0] +
                               " exec " BINARY_ROOT "/acid run one.toml 2> messages";
      const int status = std::system(line.c_str());
      bench.write("code", std::to_string(WEXITSTATUS(status)));
    });
    wait_for(bench, "there");
    const pid_t pid = std::stoi(bench.read("pid"));
    kill(pid, SIGHUP);
    CHECK(looks_around(pid));
    bench.write("go-on", "");
    command.join();
    CHECK(bench.read("code") == "1");
    CHECK_THAT(bench.read("messages"), !ContainsSubstring("interrupted"));
  }
}

TEST_CASE("runs go on when the reader of the messages is gone") {
  const Bench bench("exit 1\n");
  const std::string line = "cd " + bench.path() + "; (" + bench.environment[0] +
                           " " BINARY_ROOT
                           "/acid run small.toml 2>&3 > /dev/null; echo $? > code) 3>&1 | true";
  CHECK(std::system(line.c_str()) == 0);
  wait_for(bench, "code");
  CHECK(bench.starts().size() == 6);
  CHECK(bench.read("code") == "1\n");
}

namespace {

// Of each run of a folder's study: its digests, and those of its values.
std::map<std::string, nlohmann::json> kept(const Bench& bench) {
  std::map<std::string, nlohmann::json> kept;
  for (const auto& run : bench.runs()) {
    const std::string id = run["id"];
    kept[id] = {
        bench.shown(id)["digests"],
        bench.call({"export", id, "--format", "csv", "--metric", "consensus_distance"}).out};
  }
  return kept;
}

}  // namespace

TEST_CASE("one process executes one run after the other, each as in a process of its own") {
  const Bench shared("exec $REAL \"$@\"\n"), alone("exec $REAL $ALONE\n");
  shared.done({"run", "small.toml"});
  alone.done({"run", "small.toml"});
  CHECK(shared.starts().size() == 1);
  CHECK(alone.starts().size() == 6);
  CHECK(kept(shared) == kept(alone));
  const std::string id = shared.runs()[0]["id"];
  CHECK_THAT(shared.shown(id)["attempts"][0]["environment"]["command_line"].get<std::string>(),
             Matches(".*acid-worker --store acid-store --run " + id));
}

TEST_CASE("a run that diverges leaves its process to the others, one that throws ends it alone") {
  const Bench bench("rm -f broken.txt\nexec $REAL \"$@\"\n");
  bench.write("first.txt", "0 1\n1 2\n2 3\n3 0\n");
  bench.write("broken.txt", "0 1\n1 2\n2 3\n0 3\n");
  bench.write("last.txt", "0 1\n1 2\n3 2\n3 0\n");
  std::string recipe = acid::test::kSmallRecipe;
  recipe.replace(recipe.find("\"ring\""), 6, "\"edges\"");
  recipe.insert(recipe.find("budget"),
                "sweep.topology.edges = [\"first.txt\", \"broken.txt\", \"last.txt\"]\n"
                "sweep.optimizer.learning_rate = [1e9, 0.05]\n");
  bench.write("edges.toml", recipe);
  const auto result = bench.call({"run", "edges.toml", "--set", "seeds=[1]"});
  INFO(result.err);
  CHECK(result.code == 2);
  const auto count = [&](const char* state) {
    return bench.told({"list", "--state", state})["runs"].size();
  };
  // Two algorithms at two learning rates; ar-sgd has no use for a graph, and a run for each rate.
  constexpr std::size_t kThrow = 4;
  CHECK(count("planned") == kThrow);
  CHECK(count("diverged") == 5);
  CHECK(count("finished") == 5);
  CHECK(bench.starts().size() == 1 + kThrow);
  CHECK(acid::test::count_of("was not started: topology 'edges'", result.err) == kThrow);
}
