// Runs with one process per worker, under the real mpirun: from `acid run` to proof, with processes
// that die, stop, or have other data.
#include <signal.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "cli/processes/child.hpp"
#include "engine/base/clock.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

constexpr const char* kRecipe = R"(
name = "processes"
seeds = [3]
[task]
dataset = { kind = "quadratic", dimension = 2000, noise = 0.5, heterogeneity = 1.0 }
[optimizer]
kind = "sgd"
learning_rate = 0.02
[workers]
count = 3
[topology]
kind = "ring"
[budget]
gradients = 600
[[algorithms]]
kind = "a2cid2"
communication_rate = 1.0
[[algorithms]]
kind = "ar-sgd"
[evaluation]
every_gradients = 150
[execution]
driver = "mpi"
)";

// An asynchronous run that takes seconds for some thousand gradients and saves often.
std::vector<std::string> long_run(int gradients) {
  return {"run",   "r.toml",
          "--set", "algorithms=[{kind=\"ad-psgd\"}]",
          "--set", "task.dataset.dimension=50000",
          "--set", "budget.gradients=" + std::to_string(gradients),
          "--set", "checkpoint.every_seconds=0.3"};
}

struct Bench : Folder {
  Bench() { write("r.toml", kRecipe); }
  json shown(const std::string& run) const {
    const Result result = acid(*this, {"show", run, "--json"});
    return result.code == 0 ? result.json() : json();
  }
  std::string id(std::size_t index = 0) const {
    return acid(*this, {"list", "--json"}).json()["runs"].at(index)["id"];
  }
  /// The run's processes, once it has a checkpoint or has ended.
  std::vector<pid_t> processes_of_long_run() const {
    for (int i = 0; i < 2000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const Result listed = acid(*this, {"list", "--json"});
      if (listed.code != 0 || listed.json()["runs"].empty()) continue;
      const json run = shown(listed.json()["runs"][0]["id"]);
      if (run.is_null()) continue;
      if (run["checkpoints"].empty() && run["state"] != "finished") continue;
      std::vector<pid_t> pids;
      for (const json& process : run["environment"]["processes"]) pids.push_back(process["pid"]);
      return pids;
    }
    FAIL("the run did not begin");
    return {};
  }
};

/// A long run that was disturbed while it was under way.
struct Disturbed {
  std::unique_ptr<Bench> bench;
  std::vector<std::string> command;
  std::vector<pid_t> pids;  // of the processes that existed
  Result result;
};

/// If the machine is so fast that the run has ended before, tries a longer one.
Disturbed disturb(const std::function<void(const Running&, const std::vector<pid_t>&)>& how) {
  for (int gradients = 2400; gradients < 1'000'000; gradients *= 4) {
    Disturbed run{std::make_unique<Bench>(), long_run(gradients), {}, {}};
    Running running(*run.bench, run.command);
    run.pids = run.bench->processes_of_long_run();
    REQUIRE(run.pids.size() == 3);
    how(running, run.pids);
    run.result = running.wait();
    const json attempts = run.bench->shown(run.bench->id())["attempts"];
    if (attempts.size() > 1 || attempts[0]["outcome"] != "finished") return run;
  }
  FAIL("every run was over before it was disturbed");
  return {};
}

// For a machine that is busy with other work.
constexpr double kPatienceSeconds = 60;

bool all_gone(const std::vector<pid_t>& pids, double seconds) {
  const SteadyClock clock;
  const double until = clock.seconds() + seconds;
  const auto lives = [](pid_t pid) {
    std::string line;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line);
    const std::size_t name_end = line.rfind(") ");
    return name_end != std::string::npos && line[name_end + 2] != 'Z';
  };
  while (true) {
    if (std::none_of(pids.begin(), pids.end(), lives)) return true;
    if (clock.seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

TEST_CASE("more processes than a machine has room for are refused before the first is started") {
  if (!there_is_mpi()) return;
  const Bench bench;
  const Result result = acid(bench, {"run", "r.toml", "--set", "workers.count=1000000"});
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(result.seconds < 60);
  CHECK(result.err.find("1000000 workers under mpi are as many processes on this machine") !=
        std::string::npos);
}

TEST_CASE("CORRECTNESS 43: processes whose parameters blow up have diverged") {
  if (!there_is_mpi()) return;
  const Bench bench;
  const Result result =
      acid(bench, {"run", "r.toml", "--set", "algorithms=[{kind=\"d-psgd\"}]", "--set",
                   "optimizer.learning_rate=2.05", "--set", "workers.count=4", "--set",
                   "task.dataset.noise=0", "--set", "budget.gradients=2000"});
  CHECK(result.code == 1);
  INFO(result.out << result.err);
  const json run = acid(bench, {"list", "--json"}).json()["runs"].at(0);
  CHECK(run["state"] == "diverged");
  CHECK(result.out.find("1 of 1") != std::string::npos);
}

TEST_CASE("runs with a process per worker finish and are proven") {
  if (!there_is_mpi()) return;
  const Bench bench;
  const Result result = acid(bench, {"run", "r.toml"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.err, !ContainsSubstring("mpirun") && !ContainsSubstring("----"));
  CHECK_THAT(result.err, !ContainsSubstring("starting again"));
  const json runs = acid(bench, {"list", "--json"}).json()["runs"];
  REQUIRE(runs.size() == 2);
  for (const json& run : runs) {
    CHECK(run["driver"] == "mpi");
    CHECK(run["state"] == "finished");
    const json environment = bench.shown(run["id"])["environment"];
    CHECK_THAT(environment["mpi"]["library"].get<std::string>(), ContainsSubstring("MPI"));
    std::set<int> pids;
    for (int rank = 0; rank < 3; ++rank) {
      CHECK(environment["processes"][static_cast<std::size_t>(rank)]["rank"] == rank);
      pids.insert(environment["processes"][static_cast<std::size_t>(rank)]["pid"].get<int>());
    }
    CHECK(pids.size() == 3);
    const Result proof = acid(bench, {"verify", run["id"]});
    INFO(proof.out << proof.err);
    CHECK(proof.code == 0);
  }
  CHECK_THAT(acid(bench, {"run", "r.toml"}).err, ContainsSubstring("2 of 2 runs already finished"));
}

TEST_CASE("samples by the clock are taken in processes too, at one place of all, and are proven") {
  if (!there_is_mpi()) return;
  constexpr double kEvery = 0.1;
  const Bench bench;
  std::string recipe = kRecipe;
  recipe.replace(recipe.find("every_gradients = 150"), 21, "every_seconds = 0.1");
  bench.write("r.toml", recipe);
  const Result result = acid(bench, {"run", "r.toml", "--set", "task.dataset.dimension=50000",
                                     "--set", "budget.gradients=2400"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json runs = acid(bench, {"list", "--json"}).json()["runs"];
  REQUIRE(runs.size() == 2);
  for (const json& run : runs) {
    std::istringstream lines(acid(bench, {"export", run["id"], "--format", "csv"}).out);
    std::vector<double> seconds;
    std::vector<long> gradients;
    for (std::string line; std::getline(lines, line);) {
      if (line.find(",eval_loss,,") == std::string::npos) continue;
      std::istringstream fields(line);
      std::vector<std::string> field(8);
      for (std::string& one : field) std::getline(fields, one, ',');
      gradients.push_back(std::stol(field[3]));
      seconds.push_back(std::stod(field[5]));
    }
    INFO(run["algorithm"] << ": " << json(seconds) << json(gradients));
    REQUIRE(seconds.size() >= 4);
    CHECK(gradients.front() == 0);
    CHECK(gradients.back() == 2400);
    // There are never two in one cell of the grid; how late a sample is depends on the machine.
    for (std::size_t k = 1; k + 1 < seconds.size(); ++k) {
      CHECK(std::floor(seconds[k] / kEvery) > std::floor(seconds[k - 1] / kEvery));
      CHECK(gradients[k] >= gradients[k - 1]);
    }
    const Result proof = acid(bench, {"verify", run["id"]});
    INFO(proof.out << proof.err);
    CHECK(proof.code == 0);
  }
}

TEST_CASE("a killed process is named, and the run goes on from its checkpoint") {
  if (!there_is_mpi()) return;
  const Disturbed run =
      disturb([](const Running&, const std::vector<pid_t>& pids) { kill(pids[1], SIGKILL); });
  const Bench& bench = *run.bench;
  const std::vector<pid_t>& pids = run.pids;
  const Result& result = run.result;
  INFO(result.err);
  CHECK(result.code == 0);
  const std::string killed = "worker 1 (process " + std::to_string(pids[1]) + " on ";
  CHECK_THAT(result.err, ContainsSubstring(killed) &&
                             ContainsSubstring("was killed by SIGKILL; restarting from its "
                                               "last checkpoint (1 of 3)"));
  const json attempts = bench.shown(bench.id())["attempts"];
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0]["outcome"] == "interrupted");
  CHECK_THAT(attempts[0]["message"].get<std::string>(), ContainsSubstring(killed));
  CHECK(attempts[1]["resumed_from"] > 0);
  CHECK(all_gone(pids, kPatienceSeconds));
  CHECK(acid(bench, {"verify", "@latest"}).code == 0);
}

TEST_CASE("a stop saves the run, and the same command goes on") {
  if (!there_is_mpi()) return;
  const Disturbed stopped = disturb(
      [](const Running& running, const std::vector<pid_t>&) { kill(running.pid(), SIGINT); });
  const Bench& bench = *stopped.bench;
  INFO(stopped.result.err);
  CHECK(stopped.result.code == 130);
  CHECK(all_gone(stopped.pids, kPatienceSeconds));
  const json run = bench.shown(bench.id());
  CHECK(run["state"] == "interrupted");
  CHECK(run["attempts"][0]["message"] == "stopped by a signal");
  const Result resumed = acid(bench, stopped.command);
  INFO(resumed.err);
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.err, ContainsSubstring("resuming from gradient"));
}

TEST_CASE("nothing outlives an acid that is killed, and the run can be resumed") {
  if (!there_is_mpi()) return;
  const Disturbed run = disturb(
      [](const Running& running, const std::vector<pid_t>&) { kill(running.pid(), SIGKILL); });
  const Bench& bench = *run.bench;
  CHECK(all_gone(run.pids, kPatienceSeconds));
  CHECK(bench.shown(bench.id())["state"] == "interrupted");
  CHECK(acid(bench, {"resume"}).code == 0);
}

TEST_CASE("without mpirun nothing is planned, and the exit code is that of a wrong call") {
  if (!there_is_mpi()) return;
  const Bench bench;
  const Result run = acid(bench, {"run", "r.toml"}, {"PATH=" + bench.path()});
  INFO(run.err);
  CHECK(run.code == 2);
  CHECK_THAT(run.err, ContainsSubstring("apt install openmpi-bin"));
  CHECK_FALSE(bench.has("acid-store"));
}

TEST_CASE("a launcher that goes on when its run has ended is told to end") {
  if (!there_is_mpi()) return;
  const Bench bench;
  bench.write("mpirun", "#!/bin/sh\nPATH=${PATH#*:} mpirun \"$@\"\nexec sleep 300\n");
  std::filesystem::permissions(bench.path("mpirun"), std::filesystem::perms::owner_all);
  const SteadyClock clock;
  const double begun = clock.seconds();
  const Result run = acid(bench, {"run", "r.toml", "--set", "algorithms=[{kind=\"ad-psgd\"}]"},
                          {"PATH=" + bench.path() + ":" + std::getenv("PATH")});
  INFO(run.out << run.err);
  CHECK(run.code == 0);
  CHECK(clock.seconds() - begun < 250);  // less than the run would take
}

TEST_CASE(
    "a launcher that begins nothing is ended when it has had its time, and started once more") {
  if (!there_is_mpi()) return;
  struct Launcher {
    const char* hangs;
    const char* max_restarts;
    int code;
    const char* says;
  };
  // The first begins what it is asked for when it is started again.
  for (const Launcher& launcher :
       {Launcher{"[ -e begun ] && exec /usr/bin/mpirun \"$@\"\ntouch begun; exec sleep 300", "3", 0,
                 "restarting from its beginning (1 of 1)"},
        Launcher{"trap '' TERM INT USR1\nsleep 300 & echo $! > child; wait; sleep 300", "0", 1,
                 "the launcher has begun nothing within"}}) {
    const Bench bench;
    bench.write("mpirun",
                std::string("#!/bin/sh\n[ $1 != --version ] || exec /usr/bin/mpirun $1\n") +
                    launcher.hangs + "\n");
    std::filesystem::permissions(bench.path("mpirun"), std::filesystem::perms::owner_all);
    const std::string path = "PATH=" + bench.path() + ":" + std::getenv("PATH");
    const SteadyClock clock;
    const double begun = clock.seconds();
    const Result run = acid(bench,
                            {"run", "r.toml", "--set", "algorithms=[{kind=\"ad-psgd\"}]", "--set",
                             "execution.mpi.start_seconds=1", "--set",
                             std::string("execution.max_restarts=") + launcher.max_restarts},
                            {path});
    INFO(launcher.hangs << run.out << run.err);
    CHECK(run.code == launcher.code);
    CHECK_THAT(run.err, ContainsSubstring(launcher.says));
    CHECK(clock.seconds() - begun < 60);
    if (bench.has("child"))
      CHECK(comes_true([&] { return kill(std::stoi(bench.read("child")), 0) != 0; }));
  }
}

TEST_CASE("a process with other data, or with none, keeps the run from beginning") {
  if (!there_is_mpi()) return;
  const Bench bench;
  // Every process looks for the data in its own working directory.
  const std::string recipe =
      "seeds = [1]\n[task]\nbatch_size = 2\n"
      "dataset = { kind = \"logistic\", path = \"/proc/self/cwd/data.txt\" }\n"
      "[workers]\ncount = 3\n[budget]\ngradients = 30\n[[algorithms]]\nkind = \"ar-sgd\"\n"
      "[execution]\ndriver = \"mpi\"\n";
  bench.write("d.toml", recipe);
  std::string data;
  for (int i = 0; i < 12; ++i) data += i % 2 == 0 ? "+1 1:0.5 2:1\n" : "-1 1:1 2:0.25\n";
  bench.write("data.txt", data);
  const auto run_with = [&](const std::string& prepare, std::vector<std::string> options = {}) {
    const std::string worker =
        bench.write_program("worker",
                            "#!/bin/sh\n"
                            "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then\n" +
                                prepare + "\nfi\nexec " BINARY_ROOT "/acid-worker \"$@\"\n");
    options.insert(options.begin(), {"run", "d.toml"});
    return acid(bench, options, {"ACID_WORKER=" + worker});
  };
  const Result none = run_with("mkdir -p none; cd none");
  INFO(none.err);
  CHECK(none.code != 0);
  CHECK_THAT(none.err, ContainsSubstring("worker 1 on ") && ContainsSubstring("data.txt"));
  const std::string other = "mkdir -p other; sed s/0.5/0.6/ data.txt > other/data.txt; cd other";
  const Result different = run_with(other);
  INFO(different.err);
  CHECK(different.code == 2);
  CHECK_THAT(different.err, ContainsSubstring("worker 1 on ") && ContainsSubstring("data") &&
                                ContainsSubstring("--allow-changed") &&
                                !ContainsSubstring("worker 2"));
  const Result allowed = run_with(other, {"--allow-changed"});
  INFO(allowed.err);
  CHECK(allowed.code == 0);
}

TEST_CASE("acid that was itself started once per worker needs no launcher") {
  if (!there_is_mpi()) return;
  const Bench bench;
  const auto captured = [&](const std::string& algorithms) {
    return capture({"sh", "-c",
                    "cd " + bench.path() +
                        " && mpirun -n 3 --bind-to none --oversubscribe " BINARY_ROOT
                        "/acid run r.toml --set execution.mpi.launcher=none --set 'algorithms=" +
                        algorithms + "'"},
                   300, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  };
  const Captured one = captured("[{kind=\"a2cid2\"}]");
  INFO(one.output);
  CHECK(one.ran);
  CHECK(acid(bench, {"list", "--state", "finished", "--json"}).json()["runs"].size() == 1);
  CHECK(captured("[{kind=\"a2cid2\"}]").ran);  // nothing is left to do
  const Captured two = captured("[{kind=\"a2cid2\"}, {kind=\"ar-sgd\"}]");
  CHECK_FALSE(two.ran);
  CHECK_THAT(two.output, ContainsSubstring("must ask for one run"));
}

}  // namespace acid::test
