// Requests to stop, and processes that the kernel stops and continues.
#include <signal.h>

#include <fstream>
#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/crash/bench.hpp"
#include "tests/crash/recipes.hpp"
#include "tests/waiting.hpp"

using namespace acid::test;

namespace {

// A run whose acid, or whose worker, got signals, the second `pause` after the first.
Stopped interrupt(const std::vector<int>& numbers, double pause = 0, bool worker = false) {
  signal(SIGHUP, SIG_DFL);  // nohup ignores it, which what is started here would inherit
  return stopped_run(plain_recipe(), [&](const Bench& bench, const Running& running) {
    const auto workers = bench.workers();
    if (worker && workers.empty()) return;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i > 0) sleep_seconds(pause);
      kill(worker ? workers.front() : running.pid(), numbers[i]);
    }
  });
}

// Checks that the current event is finished and then saved: nothing is computed again.
void check_saved(const Bench& bench) {
  const auto shown = bench.shown();
  const auto& checkpoints = shown["checkpoints"];
  REQUIRE_FALSE(checkpoints.empty());
  CHECK(checkpoints.back()["gradients"] == shown["progress"]["gradients"]);
}

void check_resumes(const Bench& bench) {
  CHECK(bench.falls_silent(kPatienceSeconds));
  CHECK(bench.runs()[0]["state"] == "interrupted");
  bench.check_sound();
  const Result resumed = bench.call({"resume"});
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  bench.check_sound();
  CHECK(difference(uninterrupted(plain_recipe()), bench.kept()) == "");
}

}  // namespace

TEST_CASE("one signal to stop saves the state: exit code 130, and resume ends with the same bits") {
  const int number = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGXCPU);
  const auto [its_bench, result] = interrupt({number});
  const Bench& bench = *its_bench;
  INFO("signal " << number << "\n" << result.err);
  CHECK(result.code == 130);
  CHECK(result.err.find("interrupted") != std::string::npos);
  check_saved(bench);
  check_resumes(bench);
}

TEST_CASE("a worker stops and saves at all that a batch system or a logout sends it") {
  using Signals = std::vector<int>;
  const Signals numbers = GENERATE(Signals{SIGTERM}, Signals{SIGTERM, SIGHUP}, Signals{SIGUSR2},
                                   Signals{SIGXCPU, SIGXCPU});
  const auto [bench, result] = interrupt(numbers, 0, true);
  INFO("signal " << numbers.front() << "\n" << result.err);
  CHECK(result.code == 130);
  CHECK(result.err.find("was stopped by a signal from elsewhere") != std::string::npos);
  check_saved(*bench);
  check_resumes(*bench);
}

TEST_CASE("a worker that ignores SIGHUP, as under nohup, does not stop at it") {
  const Bench bench(plain_recipe());
  Running running = bench.start({}, {worker_after(bench, "trap '' HUP")});
  REQUIRE(bench.has_checkpoint_within(kPatienceSeconds));
  for (const pid_t pid : bench.workers()) kill(pid, SIGHUP);
  const Result result = wait_at_most(bench, running, kPatienceSeconds);
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(bench.shown()["attempts"].size() == 1);
}

TEST_CASE("a second SIGINT stops at once and the run can still be resumed") {
  const double pause = GENERATE(0.0, 0.002, 0.02);
  const auto [bench, result] = interrupt({SIGINT, SIGINT}, pause);
  INFO(result.err);
  CHECK(result.code == 130);
  check_resumes(*bench);
}

TEST_CASE("a run that is stopped and continued by the kernel does not notice") {
  const bool worker = GENERATE(false, true);
  const Bench bench(plain_recipe());
  Running running = bench.start();
  REQUIRE(bench.has_checkpoint_within(kPatienceSeconds));
  const auto workers = bench.workers();
  const pid_t pid = worker && !workers.empty() ? workers.front() : running.pid();
  kill(pid, SIGSTOP);
  sleep_seconds(1);
  kill(pid, SIGCONT);
  const Result result = wait_at_most(bench, running, kPatienceSeconds);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(difference(uninterrupted(plain_recipe()), bench.kept()) == "");
  CHECK(bench.shown()["attempts"].size() == 1);
}

TEST_CASE("many runs in one process stop at a signal, each as far as it was, and go on later") {
  const auto [worker, delay] =
      GENERATE(std::pair{false, 0.05}, std::pair{true, 0.15}, std::pair{false, 0.25});
  const Bench bench(many_recipe());
  Running running = bench.start();
  REQUIRE(comes_true([&] { return !bench.workers().empty() || has_ended(running); }));
  sleep_seconds(delay);
  const auto workers = bench.workers();
  kill(worker && !workers.empty() ? workers.front() : running.pid(), worker ? SIGTERM : SIGINT);
  const Result result = wait_at_most(bench, running, kPatienceSeconds);
  INFO(result.err);
  CHECK((result.code == 130 || result.code == 0));
  CHECK(bench.falls_silent(kPatienceSeconds));
  bench.check_sound();
  bench.done();
  bench.check_sound();
  CHECK(difference(uninterrupted(many_recipe()), bench.kept()) == "");
}

namespace {

// A run whose worker never ends its preparations: a file that its settings name has become a pipe
// into which nothing is written.
struct Preparing : Bench {
  Preparing() : Bench(with_edges()) {
    write("ring.txt", "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n");
    CHECK(run({}, {"ACID_WORKER=" + write_program("none", "#!/bin/sh\nexit 1\n")}).code == 1);
    REQUIRE(shell("rm ring.txt && mkfifo ring.txt").code == 0);
  }
  Running resume() const { return Running(*this, {"resume", runs()[0]["id"].get<std::string>()}); }
  std::size_t attempts() const {
    return call({"show", "@latest", "--json"}).json()["attempts"].size();
  }
  bool prepares() const {
    return comes_true([&] { return !workers().empty(); }) && blocks_signals(workers().front());
  }

 private:
  static std::string with_edges() {
    std::string recipe = plain_recipe();
    const std::string ring = "kind = \"ring\"";
    return recipe.replace(recipe.find("." + ring), ring.size() + 1,
                          " = { kind = \"edges\", edges = \"ring.txt\" }");
  }
  // Whether the worker has set up its signals: it blocks SIGTERM, to wait for it.
  static bool blocks_signals(pid_t pid) {
    return comes_true([&] {
      std::ifstream file("/proc/" + std::to_string(pid) + "/status");
      for (std::string line; std::getline(file, line);)
        if (line.rfind("SigBlk:", 0) == 0)
          return (std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
      return false;
    });
  }
};

}  // namespace

TEST_CASE("a worker hears a signal also while it prepares a run, and there is nothing to save") {
  const Preparing bench;
  const std::size_t before = bench.attempts();
  Running running = bench.resume();
  REQUIRE(bench.prepares());
  kill(running.pid(), SIGINT);
  const Result result = wait_at_most(bench, running, 20);
  INFO(result.err);
  CHECK(result.code == 130);
  CHECK(bench.falls_silent(kPatienceSeconds));
  CHECK(bench.attempts() == before);
}

TEST_CASE("a worker that prepares a run ends with its acid") {
  const Preparing bench;
  Running running = bench.resume();
  REQUIRE(bench.prepares());
  kill(running.pid(), SIGKILL);
  running.wait();
  CHECK(bench.falls_silent(20));
}
