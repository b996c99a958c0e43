// Command lines for mpirun and srun, and the reading of their output.
#include "cli/processes/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "cli/processes/machine.hpp"
#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/waiting.hpp"

namespace acid::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

RunSettings settings_with(const json& changes) {
  const json given = changes.is_object() ? changes : json::object();
  MpiSettings mpi;
  mpi.launcher = given.value("launcher", mpi.launcher);
  mpi.hosts = given.value("hosts", mpi.hosts);
  mpi.hostfile = given.value("hostfile", "");
  if (given.contains("processes_per_host")) mpi.processes_per_host = given["processes_per_host"];
  mpi.arguments = given.value("arguments", mpi.arguments);
  if (given.contains("start_seconds")) mpi.start_seconds = given["start_seconds"];
  mpi.go_on = given.value("on_loss", "") == "go-on";
  RunSettings settings;
  settings.workers = 4;
  settings.algorithm = {{"kind", given.value("algorithm", "ad-psgd")}};
  settings.execution.driver = DriverKind::mpi;
  settings.execution.mpi = mpi;
  return settings;
}

Surroundings surroundings() {
  Surroundings around;
  around.is_this_host = [](const std::string& name) { return name == "here"; };
  around.find_program = [](const std::string& name) { return "/usr/bin/" + name; };
  around.slurm_mpi_plugins = [] { return "MPI plugin types are...\n\tcray\n\tpmi2\n\tpmix\n"; };
  around.mpirun_version = [] { return "mpirun (Open MPI) 5.0.7\n\nReport bugs\n"; };
  return around;
}

bool holds(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

const Words kWorker{"/bin/acid-worker", "--store", "s", "--run", "abc"};

Command command_for(const json& changes, const Surroundings& around = surroundings()) {
  return launch_command(settings_with(changes), kWorker, around);
}

// The words between `acid-worker --launch` and acid-worker's own arguments, which are always the
// same.
std::string launcher_line(const json& changes, const Surroundings& around = surroundings()) {
  Words words = command_for(changes, around).arguments;
  const Words begin{"/bin/acid-worker", "--launch"};
  const Words end{"/bin/acid-worker", "--mpi", "--store", "s", "--run", "abc"};
  REQUIRE(words.size() > begin.size() + end.size());
  CHECK(std::equal(begin.begin(), begin.end(), words.begin()));
  CHECK(std::equal(end.rbegin(), end.rend(), words.rbegin()));
  std::string line;
  for (std::size_t k = begin.size(); k + end.size() < words.size(); ++k)
    line += (line.empty() ? "" : " ") + words[k];
  return line;
}

std::string message_for(const json& changes, const Surroundings& around = surroundings()) {
  try {
    command_for(changes, around);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// The output of Open MPI 4.1.
const std::string kRule(74, '-');
const std::string kKilled =
    kRule +
    "\nPrimary job  terminated normally, but 1 process returned\n"
    "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
    kRule + "\n" + kRule +
    "\nmpirun noticed that process rank 2 with PID 0 on node node7 exited "
    "on signal 9 (Killed).\n" +
    kRule + "\n";

// The output of Open MPI 5.0.
const std::string kKilledBy5 =
    kRule +
    "\nprterun noticed that process rank 2 with PID 7 on node node7 exited on\n"
    "signal 9 (Killed).\n" +
    kRule + "\n";

}  // namespace

TEST_CASE("mpirun is told to go on without a process that dies, where the method can and it can") {
  CHECK_THAT(launcher_line({{"on_loss", "go-on"}}), ContainsSubstring("--with-ft ulfm"));
  for (const json& stays : {json{{"on_loss", "restart"}}, json::object(),
                            json{{"on_loss", "go-on"}, {"algorithm", "ar-sgd"}}})
    CHECK_THAT(launcher_line(stays), !ContainsSubstring("--with-ft"));
  const json theirs = {{"on_loss", "go-on"}, {"arguments", {"--with-ft", "mpi"}}};
  CHECK_THAT(launcher_line(theirs), !ContainsSubstring("ulfm"));
  Surroundings older = surroundings();
  for (const char* version : {"mpirun (Open MPI) 4.1.4\n", "HYDRA build details:\n 7\n", ""}) {
    older.mpirun_version = [&] { return version; };
    CHECK_THAT(message_for({{"on_loss", "go-on"}}, older), ContainsSubstring("since version 5"));
    CHECK(message_for({}, older) == "no error");
  }
}

TEST_CASE(
    "mpirun starts one process per worker, unbound, on the hosts and with the words it is told") {
  const std::string base = "mpirun -n 4 --bind-to none --oversubscribe";
  CHECK(command_for({}).stop_signal == SIGUSR1);
  const Folder folder;
  const std::string file = folder.write("hosts", "# ours\n\nuser@here slots=2\nthere slots=2\n");
  for (const auto& [changes, line] :
       {std::pair<json, std::string>{json::object(), base},
        {{{"hosts", {"here", "there"}}}, base + " --host here,there"},
        {{{"hosts", {"here"}}, {"processes_per_host", 4}},
         base + " --host here --map-by ppr:4:node"},
        {{{"processes_per_host", 2}}, base + " --map-by ppr:2:node"},
        {{{"hostfile", file}}, base + " --hostfile " + file},
        // The person's come last and stand instead of ours.
        {{{"hosts", {"here", "b"}}, {"arguments", {"--mca", "plm_rsh_agent", "/path/agent"}}},
         base + " --host here,b --mca plm_rsh_agent /path/agent"},
        {{{"arguments", {"--bind-to", "core", "--nooversubscribe"}}},
         "mpirun -n 4 --bind-to core --nooversubscribe"}})
    CHECK(launcher_line(changes) == line);
}

TEST_CASE("variables that arithmetic depends on go to other hosts, those of this host do not") {
  Surroundings around = surroundings();
  around.environment = {"ACID_STORE=/here",       "ACID_PARENT_PID=7", "OPENBLAS_CORETYPE=Haswell",
                        "OMP_NUM_THREADS=1",      "HOME=/root",        "LD_LIBRARY_PATH=/lib",
                        "ACID_TORCH_MODULE=/m.so"};
  CHECK(launcher_line({}, around) ==
        "mpirun -n 4 --bind-to none --oversubscribe -x OPENBLAS_CORETYPE -x OMP_NUM_THREADS "
        "-x LD_LIBRARY_PATH -x ACID_TORCH_MODULE");
}

TEST_CASE("root may use mpirun, and what is set already is left as it is") {
  const auto has = [](const Command& command, const std::string& variable) {
    return holds(command.environment, variable);
  };
  Surroundings around = surroundings();
  CHECK_FALSE(has(command_for({}, around), "OMPI_ALLOW_RUN_AS_ROOT=1"));
  around.root = true;
  CHECK(has(command_for({}, around), "OMPI_ALLOW_RUN_AS_ROOT=1"));
  CHECK(has(command_for({}, around), "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"));
  around.environment = {"OMPI_ALLOW_RUN_AS_ROOT=0"};
  CHECK_FALSE(has(command_for({}, around), "OMPI_ALLOW_RUN_AS_ROOT=1"));
  // Versions 4 and 5 read settings of the launcher under different names.
  for (const char* name : {"OMPI_MCA_oob_tcp_keepalive_time", "PRTE_MCA_oob_tcp_keepalive_time"}) {
    CHECK(has(command_for({}, around), name + std::string("=5")));
    around.environment = {name + std::string("=60")};
    CHECK_FALSE(has(command_for({}, around), name + std::string("=5")));
  }
}

TEST_CASE("srun gets its PMIx plugin, and ends the job when a process fails") {
  const std::string base =
      "srun -n 4 --mpi=pmix --kill-on-bad-exit=1 --cpu-bind=none --distribution=block";
  CHECK(launcher_line({{"launcher", "srun"}}) == base);
  CHECK(launcher_line({{"launcher", "srun"},
                       {"processes_per_host", 2},
                       {"arguments", {"--partition=short"}}}) ==
        base + " --ntasks-per-node=2 --partition=short");
  CHECK(command_for({{"launcher", "srun"}}).stop_signal == SIGUSR1);
  Surroundings around = surroundings();
  around.slurm_mpi_plugins = [] { return "\tpmix_v4\n"; };
  CHECK_THAT(launcher_line({{"launcher", "srun"}}, around), ContainsSubstring("--mpi=pmix_v4"));
  around.slurm_mpi_plugins = [] { return "\tpmi2\n"; };
  CHECK_THAT(message_for({{"launcher", "srun"}}, around),
             ContainsSubstring("launcher = \"mpirun\""));
}

TEST_CASE("worker 0 must be on this host") {
  CHECK_THAT(message_for({{"hosts", {"there", "here"}}}),
             ContainsSubstring("begins with 'there'") && ContainsSubstring("name this host first"));
  const Folder folder;
  CHECK_THAT(message_for({{"hostfile", folder.write("hosts", "there\nhere\n")}}),
             ContainsSubstring("execution.mpi.hostfile begins with 'there'"));
  CHECK_THAT(message_for({{"hostfile", folder.path("none")}}), ContainsSubstring("cannot read"));
  CHECK_THAT(message_for({{"hostfile", folder.write("hosts", "# no host\n")}}),
             ContainsSubstring("names no host"));
}

TEST_CASE("a missing launcher says what to install, a missing module what to build") {
  Surroundings around = surroundings();
  around.find_program = [](const std::string&) { return std::string(); };
  CHECK_THAT(message_for({}, around), ContainsSubstring("apt install openmpi-bin"));
  CHECK_THAT(message_for({{"launcher", "srun"}}, around), ContainsSubstring("slurm-client"));
  around = surroundings();
  around.built_with_mpi = false;
  for (const char* launcher : {"mpirun", "srun", "none"})
    CHECK_THAT(message_for({{"launcher", launcher}}, around),
               ContainsSubstring("/acid-mpi.so is not there: build the target acid_programs") &&
                   ContainsSubstring("libopenmpi-dev"));
}

TEST_CASE("without a launcher, acid must have been started once per worker") {
  Surroundings around = surroundings();
  CHECK_THAT(
      message_for({{"launcher", "none"}}, around),
      ContainsSubstring("here are 1 process for 4 workers") && ContainsSubstring("srun -n 4"));
  around.environment = {"SLURM_PROCID=0", "SLURM_NTASKS=4"};
  const Command command = command_for({{"launcher", "none"}}, around);
  CHECK(command.arguments == Words{"/bin/acid-worker", "--store", "s", "--run", "abc", "--mpi"});
  CHECK(command.stop_signal == SIGTERM);
}

TEST_CASE("the process of a launcher is known by its variables") {
  CHECK_FALSE(launched_process({"PATH=/bin"}));
  CHECK_FALSE(launched_process({"SLURM_PROCID=1"}));
  const auto open_mpi = launched_process(
      {"SLURM_PROCID=0", "SLURM_NTASKS=1", "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=3"});
  REQUIRE(open_mpi);
  CHECK(open_mpi->rank == 2);
  CHECK(open_mpi->size == 3);
}

TEST_CASE("this host is known by its names and addresses") {
  for (const char* name : {"localhost", "127.0.0.1"}) CHECK(is_this_host(name));
  CHECK_FALSE(is_this_host("198.51.100.7"));
  CHECK_FALSE(is_this_host("no-such-host.invalid"));
}

TEST_CASE("a killed process is named with its host, signal and process id") {
  const std::string of_mpirun = GENERATE(kKilled, kKilledBy5);
  const auto killed = killed_process("noise\n" + of_mpirun);
  REQUIRE(killed);
  const json processes = {{{"rank", 0}, {"host", "node1"}, {"pid", 11}},
                          {{"rank", 2}, {"host", "node7"}, {"pid", 1234}}};
  CHECK(describe(*killed, processes) == "worker 2 (process 1234 on node7) was killed by SIGKILL");
  CHECK(describe(*killed, nullptr) == "worker 2 (on node7) was killed by SIGKILL");
  const auto of_slurm = killed_process("srun: error: node3: task 5: Segmentation fault\n");
  REQUIRE(of_slurm);
  CHECK(describe(*of_slurm, nullptr) == "worker 5 (on node3) was killed by SIGSEGV");
  const auto several = killed_process("srun: error: node3: tasks 1-3: Killed\n");
  REQUIRE(several);
  CHECK(several->rank == 1);
  CHECK_FALSE(killed_process("srun: error: node3: task 5: Exited with exit code 2\n"));
  // A worker's message may quote any text from a store.
  const std::string endless = "a signal: " + std::string(1'000'000, '0') + "\n";
  CHECK_FALSE(killed_process(endless));
  CHECK(without_launcher_remarks(endless) == endless.substr(0, 1000) + "\n");
  CHECK_FALSE(killed_process("mpirun detected that one or more processes exited\n"));
}

TEST_CASE("of several complaints the first tells the cause") {
  CHECK(first_complaint("noise\nacid-worker: error: worker 0 was lost\n"
                        "acid-worker: error: worker 1 was lost\n") == "worker 0 was lost");
  CHECK_FALSE(first_complaint("noise\n"));
}

TEST_CASE("a host that mpirun lost is named, with the workers on it") {
  const auto [who, daemon] = GENERATE(std::pair{"ORTE", "[[24018,0],"},       // Open MPI 4
                                      std::pair{"PRTE", "[prterun-n-7@0,"});  // and 5
  const std::string words = fmt::format(
      "{}\n{} has lost communication with a remote daemon.\n\n"
      "  HNP daemon   : {}0] on node node0\n"
      "  Remote daemon: {}1] on node node1\n\n"
      "This is usually due to either a failure of the TCP network\n{}\n",
      kRule, who, daemon, daemon, kRule);
  REQUIRE(lost_host(words) == "node1");
  CHECK_FALSE(lost_host("on node node1"));
  CHECK(without_launcher_remarks(words).empty());
  const nlohmann::json processes = {{{"rank", 0}, {"host", "node0"}, {"pid", 1}},
                                    {{"rank", 2}, {"host", "node1"}, {"pid", 1}},
                                    {{"rank", 3}, {"host", "node1"}, {"pid", 2}}};
  CHECK(describe_lost_host("node1", processes) ==
        "workers 2, 3 on node1 were lost: mpirun can no longer reach that host");
  CHECK(describe_lost_host("node1", nullptr) ==
        "the workers on node1 were lost: mpirun can no longer reach that host");
}

TEST_CASE(
    "what processes wait for before the run begins is told, and is none of their last words") {
  const std::string words = "acid-worker: waiting: 3 of 8 have come\nhello\n";
  CHECK(awaited(words) == "3 of 8 have come");
  CHECK(without_launcher_remarks(words) == "hello\n");
  CHECK_FALSE(awaited("hello\n"));
}

TEST_CASE("on one host Open MPI is told to keep to shared memory and the loopback") {
  const auto kept = [](const json& changes, const Words& environment = {}) {
    Surroundings around = surroundings();
    around.environment = environment;
    const Words told = command_for(changes, around).environment;
    const auto has = [&](const char* each) { return holds(told, each); };
    CHECK(has("OMPI_MCA_btl=self,vader") == has("OMPI_MCA_oob_tcp_if_include=lo"));
    CHECK_FALSE(has("PRTE_MCA_prte_if_include=lo"));  // with it version 5 finds no network
    return has("OMPI_MCA_btl=self,vader");
  };
  CHECK(kept({}));
  CHECK(kept({{"hosts", {"here"}}}));
  CHECK_FALSE(kept({{"hosts", {"here", "there"}}}));
  CHECK_FALSE(kept({{"arguments", {"--host", "here,there"}}}));
  CHECK_FALSE(kept({}, {"SLURM_JOB_ID=7"}));
  CHECK_FALSE(kept({}, {"OMPI_MCA_btl=tcp,self", "OMPI_MCA_oob_tcp_if_include=eth0"}));
}

TEST_CASE("a launcher without processes is given time to start them, and none after it had some") {
  constexpr double kKilledAfter = 10;  // seconds alone, after which the Supervisor kills it
  Command slow({"sleep", "600"});
  slow.outlived_by_children = false;
  Child starting(slow);
  CHECK(starting.seconds_alone(0) == 0);
  CHECK(starting.seconds_alone(60) < kKilledAfter);
  CHECK(starting.seconds_alone(600) > kKilledAfter);

  Command left({"sh", "-c", "sleep 600 & echo $!; wait; exec sleep 600"});
  left.outlived_by_children = false;
  Child alone(left);
  REQUIRE(comes_true([&] {
    alone.read_output();
    return alone.output().ends_with('\n');
  }));
  CHECK(alone.seconds_alone(1) == 0);
  kill(std::stoi(alone.output()), SIGKILL);
  double now = 1;
  CHECK(comes_true([&] { return alone.seconds_alone(now += 1e-3) > 0; }));
  CHECK(alone.seconds_alone(now + 12) > kKilledAfter);
}

TEST_CASE("processes are told how long to wait for the others") {
  const Words all = command_for({{"start_seconds", 90.5}}).arguments;
  const auto found = std::find(all.begin(), all.end(), "--start-seconds");
  REQUIRE(found != all.end());
  CHECK(*std::next(found) == "90.5");
}

TEST_CASE("what the launcher remarks on the end is no part of a worker's words") {
  for (const std::string& killed : {kKilled, kKilledBy5})
    CHECK(without_launcher_remarks("mpirun: Forwarding signal 10 to job\nhello\n" + killed) ==
          "hello\n");
  CHECK(without_launcher_remarks("hello\nsrun: error: node3: task 5: Exited with exit code 2\n") ==
        "hello\n");
  const std::string unreachable =
      kRule + "\nORTE was unable to reliably start one or more daemons.\n" + kRule + "\n";
  CHECK(without_launcher_remarks(unreachable) ==
        "ORTE was unable to reliably start one or more daemons.\n");
  CHECK(without_launcher_remarks(kRule + "\nunfinished") == kRule + "\nunfinished\n");
  CHECK(without_launcher_remarks("").empty());
}

}  // namespace acid::test
