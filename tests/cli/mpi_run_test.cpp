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
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/waiting.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

constexpr const char* kRecipe = R"(
seeds = [3]
task.dataset = { kind = "quadratic", dimension = 2000, noise = 0.5, heterogeneity = 1.0 }
optimizer.learning_rate = 0.02
workers.count = 3
budget.gradients = 600
algorithms = ["a2cid2", "ar-sgd"]
execution.driver = "mpi"
evaluation.every_gradients = 150
)";

// An asynchronous run that takes seconds for some thousand gradients and saves often.
std::vector<std::string> long_run(int gradients) {
  return {"run",   "r.toml",
          "--set", "algorithms=[{kind=\"ad-psgd\"}]",
          "--set", "task.dataset.dimension=50000",
          "--set", "budget.gradients=" + std::to_string(gradients),
          "--set", "checkpoint.every_seconds=0.3"};
}

struct MpiBench : Folder {
  MpiBench() { write("r.toml", kRecipe); }
  /// The first run, where there is one by now.
  json first() const {
    const Result listed = call({"list", "--json"});
    if (listed.code != 0 || listed.json()["runs"].empty()) return {};
    const Result result = call({"show", listed.json()["runs"][0]["id"], "--json"});
    return result.code == 0 ? result.json() : json();
  }
  /// The run's processes, once it has a checkpoint or has ended.
  std::vector<pid_t> processes_of_long_run() const {
    json run;
    REQUIRE(comes_true([&] {
      run = first();
      return !run.is_null() && (!run["checkpoints"].empty() || run["state"] == "finished");
    }));
    std::vector<pid_t> pids;
    for (const json& process : run["environment"]["processes"]) pids.push_back(process["pid"]);
    return pids;
  }
  /// A program in the place of mpirun, and the path on which it is found.
  std::string other_mpirun(const std::string& script) const {
    write_program("mpirun", "#!/bin/sh\n" + script);
    return "PATH=" + path() + ":" + std::getenv("PATH");
  }
};

/// A long run that was disturbed while it was under way.
struct Disturbed {
  std::unique_ptr<MpiBench> bench;
  std::vector<std::string> command;
  std::vector<pid_t> pids;  // of the processes that existed
  Result result;
};

/// If the machine is so fast that the run has ended before, tries a longer one.
Disturbed disturb(const std::function<void(const Running&, const std::vector<pid_t>&)>& how) {
  for (int gradients = 2400; gradients < 1'000'000; gradients *= 4) {
    Disturbed run{std::make_unique<MpiBench>(), long_run(gradients), {}, {}};
    Running running(*run.bench, run.command);
    run.pids = run.bench->processes_of_long_run();
    REQUIRE(run.pids.size() == 3);
    how(running, run.pids);
    run.result = running.wait();
    const json attempts = run.bench->first()["attempts"];
    if (attempts.size() > 1 || attempts[0]["outcome"] != "finished") return run;
  }
  FAIL("every run was over before it was disturbed");
  return {};
}

/// What /proc says of a process after its name: "S 4711 …", its state and its parent. Empty: it is
/// gone.
std::string status_of(pid_t pid) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line);
  const std::size_t name_end = line.rfind(") ");
  return name_end == std::string::npos ? "" : line.substr(name_end + 2);
}

pid_t parent_of(pid_t pid) { return std::stoi(status_of(pid).substr(2)); }

bool all_gone(const std::vector<pid_t>& pids) {
  return comes_true([&] {
    return std::none_of(pids.begin(), pids.end(), [](pid_t pid) {
      const std::string status = status_of(pid);
      return !status.empty() && status.front() != 'Z';
    });
  });
}

}  // namespace

TEST_CASE("a calibration under MPI measures each host's gradients, messages and all-reduces") {
  if (!there_is_mpi()) return;
  MpiBench bench;
  bench.environment = {"XDG_DATA_HOME=" + bench.path("data")};
  json machine;
  const auto seconds_of = [&](int k) {
    return machine["network"]["all_reduces"][k]["seconds"].get<double>();
  };
  for (int tries = 0; tries < 5; ++tries) {  // other work of the machine may slow one of them
    bench.done({"predict", "r.toml", "--calibrate", "here", "--force", "--seconds", "1"});
    machine = bench.told({"machines", "show", "here"});
    if (seconds_of(2) > seconds_of(0)) break;
  }
  CHECK(machine["gradients"].size() == 3);  // of 1, 2 and 3 workers at once
  const json& network = machine["network"];
  CHECK_FALSE(network.contains("latency_seconds"));  // there is one host
  CHECK(network["inside"]["latency_seconds"] > 0);
  CHECK(network["inside"]["latency_seconds"] < 0.1);
  CHECK(network["inside"]["bandwidth_bytes_per_second"] > 1e6);
  CHECK(network["messages"].size() == 4);
  CHECK(network["all_reduces"].size() == 4);  // the last one of the run's own vectors
  CHECK(seconds_of(2) > seconds_of(0));
  const json planned = bench.told(
      {"plan", "r.toml", "--driver", "virtual", "--set", "execution.virtual.machine=here"});
  CHECK(planned["runs"][0]["settings"]["execution"]["virtual"]["network"]["workers_per_node"] ==
        json{3});
}

TEST_CASE("what cannot be started is refused before the first process, with nothing planned") {
  if (!there_is_mpi()) return;
  const MpiBench bench;
  const Result many = bench.call({"run", "r.toml", "--set", "workers.count=1000000"});
  check_refused(many, {"1000000 workers under mpi are as many processes on this machine"});
  CHECK(many.seconds < 60);
  check_refused(bench.call({"run", "r.toml"}, {"PATH=" + bench.path()}),
                {"apt install openmpi-bin"});
  CHECK_FALSE(bench.has("acid-store"));
}

TEST_CASE("CORRECTNESS 43: processes whose parameters blow up have diverged") {
  if (!there_is_mpi()) return;
  const MpiBench bench;
  const Result result =
      bench.call({"run", "r.toml", "--set", "algorithms=[{kind=\"d-psgd\"}]", "--set",
                  "optimizer.learning_rate=2.05", "--set", "workers.count=4", "--set",
                  "task.dataset.noise=0", "--set", "budget.gradients=2000"});
  CHECK(result.code == 1);
  INFO(result.out << result.err);
  CHECK(bench.first()["state"] == "diverged");
}

TEST_CASE("runs with a process per worker finish and are proven") {
  if (!there_is_mpi()) return;
  const MpiBench bench;
  const Result result = bench.done({"run", "r.toml"});
  for (const char* words : {"mpirun", "----", "starting again"})
    CHECK_THAT(result.err, !ContainsSubstring(words));
  REQUIRE(bench.runs().size() == 2);
  for (const json& run : bench.runs()) {
    CHECK(run["driver"] == "mpi");
    CHECK(run["state"] == "finished");
    const json environment = bench.shown(run["id"])["environment"];
    CHECK_THAT(environment["mpi"]["library"].get<std::string>(), ContainsSubstring("MPI"));
    std::set<int> pids;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      CHECK(environment["processes"][rank]["rank"] == rank);
      pids.insert(environment["processes"][rank]["pid"].get<int>());
    }
    CHECK(pids.size() == 3);
    bench.done({"verify", run["id"]});
  }
  CHECK_THAT(bench.call({"run", "r.toml"}).err, ContainsSubstring("2 of 2 runs already finished"));
}

TEST_CASE("samples by the clock are taken in processes too, at one place of all, and are proven") {
  if (!there_is_mpi()) return;
  constexpr double kEvery = 0.1;
  const MpiBench bench;
  bench.done({"run", "r.toml", "--set", "evaluation={ every_seconds = 0.1 }", "--set",
              "task.dataset.dimension=50000", "--set", "budget.gradients=2400"});
  REQUIRE(bench.runs().size() == 2);
  for (const json& run : bench.runs()) {
    std::istringstream lines(bench.call({"export", run["id"], "--format", "csv"}).out);
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
    bench.done({"verify", run["id"]});
  }
}

TEST_CASE("a killed process is named, and the run goes on from its checkpoint") {
  if (!there_is_mpi()) return;
  const Disturbed run =
      disturb([](const Running&, const std::vector<pid_t>& pids) { kill(pids[1], SIGKILL); });
  const MpiBench& bench = *run.bench;
  INFO(run.result.err);
  CHECK(run.result.code == 0);
  const std::string killed = "worker 1 (process " + std::to_string(run.pids[1]) + " on ";
  CHECK_THAT(run.result.err, ContainsSubstring(killed) &&
                                 ContainsSubstring("was killed by SIGKILL; restarting from its "
                                                   "last checkpoint (1 of 3)"));
  const json attempts = bench.first()["attempts"];
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0]["outcome"] == "interrupted");
  CHECK_THAT(attempts[0]["message"].get<std::string>(), ContainsSubstring(killed));
  CHECK(attempts[1]["resumed_from"] > 0);
  CHECK(all_gone(run.pids));
  CHECK(bench.call({"verify", "@latest"}).code == 0);
}

TEST_CASE("a stop saves the run, and the same command goes on") {
  if (!there_is_mpi()) return;
  const bool launcher_alone = GENERATE(false, true);
  const Disturbed stopped = disturb([&](const Running& running, const std::vector<pid_t>& ranks) {
    kill(launcher_alone ? parent_of(ranks[0]) : running.pid(), SIGINT);
  });
  const MpiBench& bench = *stopped.bench;
  INFO(stopped.result.err);
  CHECK(stopped.result.code == 130);
  CHECK(all_gone(stopped.pids));
  const json run = bench.first();
  CHECK(run["state"] == "interrupted");
  CHECK(run["attempts"][0]["message"] == "stopped by a signal");
  CHECK_THAT(bench.done(stopped.command).err, ContainsSubstring("resuming from gradient"));
}

TEST_CASE("nothing outlives an acid that is killed, and the run can be resumed") {
  if (!there_is_mpi()) return;
  const Disturbed run = disturb(
      [](const Running& running, const std::vector<pid_t>&) { kill(running.pid(), SIGKILL); });
  const MpiBench& bench = *run.bench;
  CHECK(all_gone(run.pids));
  CHECK(bench.first()["state"] == "interrupted");
  CHECK(bench.call({"resume"}).code == 0);
}

TEST_CASE("a launcher that goes on when its run has ended is told to end") {
  if (!there_is_mpi()) return;
  const MpiBench bench;
  const std::string path = bench.other_mpirun("PATH=${PATH#*:} mpirun \"$@\"\nexec sleep 300\n");
  const Result run =
      bench.done({"run", "r.toml", "--set", "algorithms=[{kind=\"ad-psgd\"}]"}, {path});
  CHECK(run.seconds < 250);  // less than the launcher would take
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
    const MpiBench bench;
    const std::string path = bench.other_mpirun(
        std::string("[ $1 != --version ] || exec /usr/bin/mpirun $1\n") + launcher.hangs + "\n");
    const Result run = bench.call({"run", "r.toml", "--set", "algorithms=[{kind=\"ad-psgd\"}]",
                                   "--set", "execution.mpi.start_seconds=1", "--set",
                                   std::string("execution.max_restarts=") + launcher.max_restarts},
                                  {path});
    INFO(launcher.hangs << run.out << run.err);
    CHECK(run.code == launcher.code);
    CHECK_THAT(run.err, ContainsSubstring(launcher.says));
    CHECK(run.seconds < 60);
    if (bench.has("child"))
      CHECK(comes_true([&] { return kill(std::stoi(bench.read("child")), 0) != 0; }));
  }
}

TEST_CASE("a process with other data, or with none, keeps the run from beginning") {
  if (!there_is_mpi()) return;
  const MpiBench bench;
  // Every process looks for the data in its own working directory.
  bench.write("d.toml",
              "seeds = [1]\ntask.batch_size = 2\n"
              "task.dataset = { kind = \"logistic\", path = \"/proc/self/cwd/data.txt\" }\n"
              "workers.count = 3\nbudget.gradients = 30\nalgorithms = [\"ar-sgd\"]\n"
              "execution.driver = \"mpi\"\n");
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
    return bench.call(options, {"ACID_WORKER=" + worker});
  };
  const Result none = run_with("mkdir -p none; cd none");
  INFO(none.err);
  CHECK(none.code != 0);
  CHECK_THAT(none.err, ContainsSubstring("worker 1 on ") && ContainsSubstring("data.txt"));
  const std::string other = "mkdir -p other; sed s/0.5/0.6/ data.txt > other/data.txt; cd other";
  const Result different = run_with(other);
  check_ended(different, 2, {"worker 1 on ", "data", "--allow-changed"});
  CHECK_THAT(different.err, !ContainsSubstring("worker 2"));
  const Result allowed = run_with(other, {"--allow-changed"});
  INFO(allowed.err);
  CHECK(allowed.code == 0);
}

TEST_CASE("a run that ends while it is saved is proven, by divergence and by the clock") {
  if (!there_is_mpi()) return;
  const MpiBench bench;
  const auto is_proven = [&](std::vector<std::string> more, int code) {
    std::vector<std::string> words{"run",   "r.toml",
                                   "--set", "algorithms=[{kind=\"d-psgd\"}]",
                                   "--set", "evaluation.every_gradients=1500",
                                   "--set", "evaluation.consensus_samples=1"};
    words.insert(words.end(), more.begin(), more.end());
    const Result run = bench.call(words);
    INFO(run.out << run.err);
    CHECK(run.code == code);
    const Result proof = bench.call({"verify", "@latest"});
    INFO(proof.out << proof.err);
    CHECK(proof.code == 0);
  };
  is_proven({"--set", "optimizer.learning_rate=50", "--set", "checkpoint.every_gradients=3"}, 1);
  for (const char* seconds : {"0.2", "0.21", "0.22", "0.23"})
    is_proven({"--set", "budget.gradients=200000", "--set", "checkpoint.every_seconds=0.02",
               "--set", std::string("budget.seconds=") + seconds},
              0);
}

TEST_CASE("acid that was itself started once per worker needs no launcher") {
  if (!there_is_mpi()) return;
  const MpiBench bench;
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
  CHECK(bench.told({"list", "--state", "finished"})["runs"].size() == 1);
  CHECK(captured("[{kind=\"a2cid2\"}]").ran);  // nothing is left to do
  const Captured two = captured("[{kind=\"a2cid2\"}, {kind=\"ar-sgd\"}]");
  CHECK_FALSE(two.ran);
  CHECK_THAT(two.output, ContainsSubstring("must ask for one run"));
}

}  // namespace acid::test
