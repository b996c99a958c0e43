// How `acid run` treats worker processes that misbehave: shell scripts play the worker.
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using acid::test::Folder;
using Catch::Matchers::Contains;

namespace {

// A folder with the small recipe and a script as the worker.
struct Bench : Folder {
  explicit Bench(const std::string& script) {
    write("small.toml", acid::test::kSmallRecipe);
    worker = "ACID_WORKER=" + write_program("worker", "#!/bin/sh\n" + script);
  }
  acid::test::Result run(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"run", "small.toml"});
    return acid::test::acid(*this, options, {worker});
  }
  std::size_t starts() const {
    const std::string log = read("starts");
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n'));
  }
  std::string worker;
};

// Until the worker script has said that it is there.
void wait_for(const Folder& folder, const std::string& file) {
  for (int i = 0; i < 1000 && !folder.has(file); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  REQUIRE(folder.has(file));
}

}  // namespace

TEST_CASE("a worker gets the store and a run id, nothing else, and no standard input") {
  const Bench bench("echo \"$@\" >> starts; cat >> input; exit 1\n");
  bench.run();
  CHECK_THAT(bench.read("starts"), Contains("--store acid-store --run "));
  CHECK(bench.read("input").empty());
}

TEST_CASE("a failing worker's last words are shown, the other runs go on, and the exit code is 1") {
  const Bench bench("echo x >> starts; echo out of luck >&2; exit 1\n");
  const auto result = bench.run();
  CHECK(result.code == 1);
  CHECK_THAT(result.err, Contains("out of luck"));
  CHECK(bench.starts() == 6);
}

TEST_CASE("the option --fail-fast stops at the first failure") {
  const Bench bench("echo x >> starts; exit 1\n");
  CHECK(bench.run({"--fail-fast"}).code == 1);
  CHECK(bench.starts() == 1);
}

TEST_CASE("a worker killed by a signal is reported with the signal's name") {
  const Bench bench("kill -9 $$\n");
  const auto result = bench.run({"--fail-fast"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, Contains("SIGKILL"));
}

TEST_CASE("standard output of a worker never reaches ours") {
  const Bench bench("echo noise; exit 1\n");
  CHECK_THAT(bench.run().out, !Contains("noise"));
}

TEST_CASE("SIGINT stops the workers, is not passed to them as such, and exits with 130") {
  const Bench bench(
      "trap 'echo stopped > stopped; exit 130' TERM\n"
      "trap 'echo hit > hit' INT\n"
      "touch there\n"
      "while :; do sleep 0.05; done\n");
  acid::test::Running running(bench, {"run", "small.toml"}, {bench.worker});
  wait_for(bench, "there");
  kill(running.pid(), SIGINT);
  const auto result = running.wait();
  CHECK(result.code == 130);
  CHECK(bench.has("stopped"));
  CHECK_FALSE(bench.has("hit"));
  CHECK_THAT(result.err, Contains("interrupted"));
  CHECK(result.out.empty());
}

TEST_CASE("a second SIGINT kills workers that do not stop") {
  const Bench bench("trap '' TERM INT\ntouch there\nwhile :; do sleep 0.05; done\n");
  acid::test::Running running(bench, {"run", "small.toml"}, {bench.worker});
  wait_for(bench, "there");
  kill(running.pid(), SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(running.pid(), SIGINT);
  CHECK(running.wait().code == 130);
}

TEST_CASE("the option --jobs starts that many workers at a time and no more") {
  // Each waits until it has seen a companion, and notes how many there are.
  const Bench bench(
      "touch alive-$$\n"
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
      "  ls alive-* | wc -l >> counts; sleep 0.02\n"
      "done\n"
      "rm alive-$$; exit 1\n");
  bench.run({"--jobs", "2"});
  const std::string counts = bench.read("counts");
  CHECK_THAT(counts, Contains("2"));
  CHECK_THAT(counts, !Contains("3"));
}
