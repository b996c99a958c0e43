// Asynchronous runs under the real mpirun that go on when one process dies, if MPI allows it.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <thread>

#include "cli/processes/child.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/waiting.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

// The run ends by the clock, so that a moment within it can be chosen beforehand.
constexpr const char* kLossRecipe = R"(
seeds = [1]
task.dataset = {{ kind = "quadratic", dimension = {}, noise = {}, heterogeneity = 1.0 }}
optimizer.learning_rate = 0.02
workers.count = {}
topology.kind = "{}"
budget = {{ gradients = 10000000, seconds = {} }}
algorithms = [{{ kind = "{}"{} }}]
evaluation.every_gradients = {}
checkpoint.every_seconds = 0.5
execution = {{ driver = "mpi", mpi = {{ on_loss = "go-on" }} }}
)";

struct LossyRun {
  std::string algorithm = "ad-psgd", topology = "ring";
  int workers = 4, dimension = 2000;
  double rate = 1, seconds = 4;
  std::string bodies = "memory";  // how vectors travel, ACID_MPI_BODIES
  bool large() const { return dimension > 100'000; }
  std::string recipe() const {
    return fmt::format(kLossRecipe, dimension, large() ? 0.0 : 0.5, workers, topology, seconds,
                       algorithm, rate > 0 ? fmt::format(", communication_rate = {}", rate) : "",
                       large() ? 40 : 2000);
  }
};

struct LossBench : Folder {
  explicit LossBench(const LossyRun& run) {
    environment = {"ACID_MPI_BODIES=" + run.bodies};
    write("r.toml", run.recipe());
  }
  json first() const {
    const Result listed = call({"list", "--json"});
    if (listed.code != 0 || listed.json()["runs"].empty()) return {};
    const Result result = call({"show", listed.json()["runs"][0]["id"], "--json"});
    return result.code == 0 ? result.json() : json();
  }
  /// The processes by rank, once gradients were committed.
  std::vector<pid_t> ranks() const {
    std::vector<pid_t> pids;
    REQUIRE(comes_true([&] {
      const json run = first();
      if (run.is_null() || run["environment"].is_null()) return false;
      if (run["progress"]["gradients"] == 0) return false;
      for (const json& each : run["environment"]["processes"]) pids.push_back(each["pid"]);
      return true;
    }));
    return pids;
  }
  std::string log_line(const std::string& words) const {
    const json run = first();
    if (!run.is_null())
      for (const json& line : run["log"])
        if (line["text"].get<std::string>().find(words) != std::string::npos) return line["text"];
    return {};
  }
};

// Open MPI allows it since version 5.
bool lets_survivors_live() {
  const std::string version = capture({"mpirun", "--version"}, 10).output;
  const std::size_t at = version.find("Open MPI) ");
  return at != std::string::npos && std::atoi(version.c_str() + at + 10) >= 5;
}

bool can_go_on() {
  if (!there_is_mpi()) return false;
  if (lets_survivors_live()) return true;
  WARN("skipped: this MPI ends all processes when one dies");
  return false;
}

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Checks that the run ended without a restart and can be verified. Returns the log's line about
/// the loss; empty if the run had ended before.
std::string check_survived(const LossBench& bench, const Result& result, int victim, pid_t pid,
                           int workers) {
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const json run = bench.first();
  INFO(run.dump(1));
  CHECK(run["state"] == "finished");
  REQUIRE(run["attempts"].size() == 1);
  bench.done({"verify", run["id"]});
  if (run["digests"]["workers"][static_cast<std::size_t>(victim)] != "") return {};
  CHECK_THAT(result.err, ContainsSubstring(fmt::format("went on without worker {}", victim)));
  CHECK_THAT(result.err, !ContainsSubstring("restart") && !ContainsSubstring("prterun"));
  for (int worker = 0; worker < workers; ++worker)
    if (worker != victim)
      CHECK(run["digests"]["workers"][static_cast<std::size_t>(worker)].get<std::string>().size() ==
            64);
  const std::string line = bench.log_line(fmt::format("worker {} (process {} on ", victim, pid));
  CHECK_THAT(line, ContainsSubstring(fmt::format("goes on with {} of {}", workers - 1, workers)));
  return line;
}

LossyRun drawn_run(std::uint64_t round, std::mt19937_64& random) {
  LossyRun run;
  run.algorithm = round % 2 == 0 ? "ad-psgd" : "a2cid2";
  run.workers = static_cast<int>(4 + random() % 3);
  run.topology = random() % 2 == 0 ? "ring" : "complete";
  run.dimension = round % 3 == 1 ? 2'000'000 : round % 3 == 2 ? 50'000 : 2000;
  run.rate = round % 3 == 1 ? 2 : 1;
  run.bodies = random() % 2 == 0 ? "memory" : "mpi";
  return run;
}

}  // namespace

// ACID_LOSSES: the number of losses; ACID_LOSSES_SEED draws others.
TEST_CASE("a process is killed at any time, and an asynchronous run goes on and is verified") {
  if (!can_go_on()) return;
  const std::uint64_t most = number_in("ACID_LOSSES", 2);
  std::mt19937_64 random(number_in("ACID_LOSSES_SEED", 1));
  std::uint64_t lost = 0;
  for (std::uint64_t round = 0; lost < most; ++round) {
    REQUIRE(round < 2 * most + 4);  // on a very busy machine every run may end before
    const LossyRun run = drawn_run(round, random);
    const int victim = static_cast<int>(1 + random() % static_cast<unsigned>(run.workers - 1));
    const double moment = static_cast<double>(random() % 2000) / 1000;
    INFO("round " << round << ": " << run.recipe() << run.bodies);
    const LossBench bench(run);
    Running running(bench, {"run", "r.toml"});
    const std::vector<pid_t> ranks = bench.ranks();
    REQUIRE(ranks.size() == static_cast<std::size_t>(run.workers));
    sleep_seconds(moment);
    const pid_t pid = ranks[static_cast<std::size_t>(victim)];
    kill(pid, SIGKILL);
    const Result result = running.wait();
    const std::string line = check_survived(bench, result, victim, pid, run.workers);
    lost += line.empty() ? 0 : 1;
    if (std::getenv("ACID_LOSSES") == nullptr) continue;
    std::cout << fmt::format("kill {} of {}: {}, {} workers of {} parameters, bodies by {}: {}\n",
                             lost, most, run.algorithm, run.workers, run.dimension, run.bodies,
                             line.empty() ? "it was over before" : line)
              << std::flush;
  }
}

TEST_CASE("who was only stopped for too long is out, and the run goes on", "[.][stress]") {
  if (!can_go_on()) return;
  LossyRun stopped;
  stopped.seconds = 30;
  const LossBench bench(stopped);
  Running running(bench, {"run", "r.toml"});
  const pid_t pid = bench.ranks().at(2);
  kill(pid, SIGSTOP);
  CHECK(comes_true([&] { return !bench.log_line("goes on with 3 of 4").empty(); }));
  kill(pid, SIGCONT);
  const std::string line = check_survived(bench, running.wait(), 2, pid, stopped.workers);
  CHECK_THAT(line, ContainsSubstring("nothing was heard of it for"));
}

TEST_CASE("a run whose worker 0 dies, and a synchronous one, are restarted, whatever recipes say") {
  if (!can_go_on()) return;
  for (const bool synchronous : {false, true}) {
    LossyRun run;
    run.seconds = synchronous ? 6 : 10;
    if (synchronous) run.algorithm = "ar-sgd", run.rate = 0;
    const LossBench bench(run);
    Running running(bench, {"run", "r.toml"});
    const std::vector<pid_t> ranks = bench.ranks();
    CHECK(comes_true([&] { return !bench.first()["checkpoints"].empty(); }));
    kill(ranks[synchronous ? 1 : 0], SIGKILL);
    const Result result = running.wait();
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.err, ContainsSubstring("restarting from its last checkpoint (1 of 3)"));
    CHECK(bench.first()["attempts"].size() == 2);
    if (!synchronous) bench.done({"verify", "@latest"});
  }
}

TEST_CASE("a run that is to go on without lost processes is refused where MPI ends it") {
  if (!there_is_mpi()) return;
  if (lets_survivors_live()) {
    WARN("skipped: this MPI does not end it");
    return;
  }
  const LossBench bench{LossyRun{}};
  check_refused(bench.call({"run", "r.toml"}), {"since version 5"});
}

}  // namespace acid::test
