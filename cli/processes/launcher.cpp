#include "cli/processes/launcher.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/processes/machine.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"
#include "engine/models/model.hpp"
#include "engine/transport/mpi_runtime.hpp"

namespace acid {
namespace {

// Variables on which a process's arithmetic, or its search for libraries, may depend.
constexpr std::array kPassedOn = {"ACID_", "OMP_", "GOMP_", "KMP_", "OPENBLAS_", "MKL_", "ATEN_"};
constexpr std::array kPassedOnByName = {"LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES",
                                        "CUDA_VISIBLE_DEVICES"};
// Variables that have a meaning on this host only.
constexpr std::array kOursAlone = {"ACID_PARENT_PID", "ACID_STORE", "ACID_WORKER"};

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

bool is_passed_on(const std::string& name) {
  if (std::ranges::count(kOursAlone, name) > 0) return false;
  return std::ranges::count(kPassedOnByName, name) > 0 ||
         std::ranges::any_of(kPassedOn,
                             [&](const char* prefix) { return name.starts_with(prefix); });
}

std::optional<std::string> value_of(const std::vector<std::string>& environment,
                                    const std::string& name) {
  for (const std::string& variable : environment)
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  return std::nullopt;
}

/// The first host in mpirun's hostfile.
std::string first_host_in(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw UsageError(
        fmt::format("cannot read the hostfile '{}'; correct execution.mpi.hostfile", path));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    if (std::string host; words >> host) return host.substr(host.find('@') + 1);
  }
  throw UsageError(fmt::format("the hostfile '{}' names no host: write one in each line", path));
}

void require_this_host(const std::string& first, const char* key, const Surroundings& around) {
  if (around.is_this_host(first)) return;
  throw UsageError(
      fmt::format("execution.mpi.{} begins with '{}', which is not this host: worker 0 must be "
                  "where the store is, so name this host first, or start acid on '{}'",
                  key, first, first));
}

void require_installed(const std::string& launcher, const char* advice,
                       const Surroundings& around) {
  if (!around.built_with_mpi)
    throw UsageError(fmt::format("{} is not there: {}, or use driver = \"threads\"",
                                 module_path(mpi_module()), remedy(mpi_module())));
  if (launcher == "none" || !around.find_program(launcher).empty()) return;
  throw UsageError(
      fmt::format("{} was not found: {}, or use driver = \"threads\"", launcher, advice));
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

bool says_any(const std::vector<std::string>& arguments, std::initializer_list<const char*> words) {
  return std::ranges::find_first_of(arguments, words) != arguments.end();
}

// `mpirun --version` prints "mpirun (Open MPI) 5.0.7".
void require_fault_tolerance(const Surroundings& around) {
  constexpr int kSince = 5;  // as shipped; version 4 was hardly ever built with it
  const std::string words = around.mpirun_version();
  const std::string version = words.substr(0, words.find('\n'));
  const std::size_t at = version.rfind(' ');
  if (version.find("Open MPI") != std::string::npos && at != std::string::npos &&
      std::atoi(version.c_str() + at) >= kSince)
    return;
  throw UsageError(
      fmt::format("execution.mpi.on_loss = \"go-on\" needs an mpirun that goes on when a process "
                  "dies, which Open MPI's does since version 5; here is '{}': use on_loss = "
                  "\"restart\"",
                  version));
}

// mpirun refuses an option that is given twice, so the user's options replace the defaults.
std::vector<std::string> mpirun_words(const MpiSettings& mpi, const std::string& workers,
                                      const Surroundings& around, bool goes_on) {
  std::vector<std::string> words{"mpirun", "-n", workers};
  const std::vector<std::string>& theirs = mpi.arguments;
  // mpirun would bind each process, and with it all its threads, to one core.
  if (!says_any(theirs, {"--bind-to", "-bind-to"})) append(words, {"--bind-to", "none"});
  if (!says_any(theirs, {"--oversubscribe", "-oversubscribe", "--nooversubscribe"}))
    words.emplace_back("--oversubscribe");
  if (goes_on && !says_any(theirs, {"--with-ft"})) {
    require_fault_tolerance(around);
    append(words, {"--with-ft", "ulfm"});
  }
  if (!mpi.hosts.empty()) {
    require_this_host(mpi.hosts.front(), "hosts", around);
    append(words, {"--host", fmt::format("{}", fmt::join(mpi.hosts, ","))});
  } else if (!mpi.hostfile.empty()) {
    require_this_host(first_host_in(mpi.hostfile), "hostfile", around);
    append(words, {"--hostfile", mpi.hostfile});
  }
  if (mpi.processes_per_host)
    append(words, {"--map-by", fmt::format("ppr:{}:node", *mpi.processes_per_host)});
  for (const std::string& variable : around.environment)
    if (const std::string name = name_of(variable); is_passed_on(name)) append(words, {"-x", name});
  append(words, theirs);
  return words;
}

// Open MPI speaks only PMIx, which Slurm has as a plugin.
std::string slurm_plugin(const std::string& listed) {
  std::istringstream words(listed);
  std::string plugin;
  for (std::string word; words >> word;)
    if (word.starts_with("pmix") && (plugin.empty() || word.size() < plugin.size())) plugin = word;
  if (plugin.empty())
    throw Error(
        "this Slurm cannot start Open MPI's processes: 'srun --mpi=list' shows no pmix plugin; "
        "install it, or use execution.mpi.launcher = \"mpirun\", which works inside an allocation");
  return plugin;
}

std::vector<std::string> srun_words(const MpiSettings& mpi, const std::string& workers,
                                    const Surroundings& around) {
  const std::string plugin = slurm_plugin(around.slurm_mpi_plugins());
  std::vector<std::string> words{"srun", "-n", workers, "--mpi=" + plugin};
  append(words, {"--kill-on-bad-exit=1", "--cpu-bind=none", "--distribution=block"});
  if (mpi.processes_per_host)
    words.push_back(fmt::format("--ntasks-per-node={}", *mpi.processes_per_host));
  append(words, mpi.arguments);
  return words;
}

// The launcher has already started this process, so the command is the worker alone.
Command direct_command(const std::vector<std::string>& worker, int workers,
                       const Surroundings& around, const MpiSettings& mpi) {
  const int started = launched_process(around.environment).value_or(LaunchedProcess{}).size;
  if (started != workers)
    throw UsageError(
        fmt::format("execution.mpi.launcher = \"none\" needs acid to be started once per worker, "
                    "as by 'mpirun -n {} acid run …' or 'srun -n {} acid run …'; here are {} "
                    "process{} for {} workers",
                    workers, workers, started, started == 1 ? "" : "es", workers));
  Command command(worker);
  command.arguments.emplace_back("--mpi");
  append(command.arguments, start_words(mpi));
  return command;
}

}  // namespace

bool may_share_a_process(const RunSettings& settings, bool begins) {
  if (settings.execution.mpi || settings.execution.cuda) return false;
  const nlohmann::json& model = settings.task.model;
  return model.is_null() || (begins && find_model(text(model, "kind"))->build != nullptr);
}

std::vector<std::string> start_words(const MpiSettings& mpi) {
  if (!mpi.start_seconds) return {};
  return {"--start-seconds", fmt::format("{:g}", *mpi.start_seconds)};
}

double seconds_to_begin(const RunSettings& settings) {
  constexpr double kUnlessSaid = 300;    // the default of acid-worker
  constexpr int kPartsOfABeginning = 4;  // the launcher, MPI, the order to the others, the answers
  return settings.execution.mpi->start_seconds.value_or(kUnlessSaid) *
         (settings.workers + kPartsOfABeginning);
}

Surroundings Surroundings::of_this_process() {
  Surroundings around;
  for (char** each = environ; *each != nullptr; ++each) around.environment.emplace_back(*each);
  around.root = geteuid() == 0;
  around.is_this_host = acid::is_this_host;
  around.find_program = acid::find_program;
  around.slurm_mpi_plugins = [] { return capture({"srun", "--mpi=list"}, 10).output; };
  around.mpirun_version = [] { return capture({"mpirun", "--version"}, 10).output; };
  around.built_with_mpi = std::filesystem::exists(module_path(mpi_module()));
  return around;
}

Command launch_command(const RunSettings& settings, const std::vector<std::string>& worker,
                       const Surroundings& around) {
  const MpiSettings& mpi = settings.execution.mpi.value();
  const std::string& launcher = mpi.launcher;
  require_installed(launcher,
                    launcher == "srun" ? "install Slurm's client (on Debian: slurm-client) or use "
                                         "execution.mpi.launcher = \"mpirun\""
                                       : "install Open MPI (on Debian: apt install openmpi-bin)",
                    around);
  if (launcher == "none") return direct_command(worker, settings.workers, around, mpi);
  const std::string count = fmt::format("{}", settings.workers);
  Command command({worker.front(), "--launch"});
  append(command.arguments, launcher == "srun"
                                ? srun_words(mpi, count, around)
                                : mpirun_words(mpi, count, around, goes_on_without_lost(settings)));
  // Other hosts do not have this process's working directory.
  command.arguments.push_back(std::filesystem::absolute(worker.front()).string());
  command.arguments.emplace_back("--mpi");
  append(command.arguments, start_words(mpi));
  command.arguments.insert(command.arguments.end(), worker.begin() + 1, worker.end());
  if (launcher == "mpirun")
    command.environment = launcher_environment(around, stays_on_this_host(mpi, around));
  command.stop_signal = SIGUSR1;
  command.outlived_by_children = launcher != "mpirun";
  return command;
}

bool stays_on_this_host(const MpiSettings& mpi, const Surroundings& around) {
  if (mpi.launcher != "mpirun" || !mpi.hostfile.empty()) return false;
  if (!std::ranges::all_of(mpi.hosts, around.is_this_host)) return false;
  if (says_any(mpi.arguments,
               {"--host", "-host", "-H", "--hostfile", "-hostfile", "--machinefile", "-machinefile",
                "--default-hostfile", "--add-host", "--add-hostfile"}))
    return false;
  // The variables by which a batch system or a hostfile gives mpirun its hosts.
  constexpr std::array kAllocation = {"SLURM_JOB_ID",
                                      "PBS_JOBID",
                                      "PE_HOSTFILE",
                                      "LSB_JOBID",
                                      "LOADL_STEP_ID",
                                      "OMPI_MCA_orte_default_hostfile",
                                      "PRTE_MCA_prte_default_hostfile"};
  return std::ranges::none_of(kAllocation, [&](const char* name) {
    return value_of(around.environment, name).has_value();
  });
}

std::vector<std::string> launcher_environment(const Surroundings& around, bool one_host) {
  // A process that crashes is named by its signal; a stack trace does not help the user.
  std::vector<std::string> wanted{
      "OMPI_MCA_btl_base_warn_component_unused=0", "OMPI_MCA_opal_signal=",
      // mpirun must notice a host that is gone, but later than the run's own processes, which can
      // name it.
      "OMPI_MCA_oob_tcp_keepalive_time=5", "OMPI_MCA_oob_tcp_keepalive_intvl=2",
      "OMPI_MCA_oob_tcp_keepalive_probes=2",
      // The launcher of version 5 is PRRTE, which reads settings under its own name only.
      "PRTE_MCA_oob_tcp_keepalive_time=5", "PRTE_MCA_oob_tcp_keepalive_intvl=2",
      "PRTE_MCA_oob_tcp_keepalive_probes=2"};
  // Open MPI's ports ask for no key. On one host its processes share memory and need no port.
  // mpirun's own port is open to all networks; version 4 gives its processes the loopback address
  // of it. Version 5 ignores the loopback, and does not start without a network.
  if (one_host)
    append(wanted, {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,vader", "OMPI_MCA_oob_tcp_if_include=lo",
                    "PMIX_MCA_ptl_tcp_if_include=lo"});
  if (around.root)  // version 4 reads the former two, version 5 the latter
    append(wanted, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                    "PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  std::erase_if(wanted, [&](const std::string& variable) {
    return value_of(around.environment, name_of(variable)).has_value();
  });
  return wanted;
}

std::optional<LaunchedProcess> launched_process(const std::vector<std::string>& environment) {
  constexpr std::array<std::pair<const char*, const char*>, 2> kKnown = {
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}}};
  for (const auto& [rank_name, size_name] : kKnown) {
    const auto rank = value_of(environment, rank_name), size = value_of(environment, size_name);
    if (rank && size) return LaunchedProcess{std::atoi(rank->c_str()), std::atoi(size->c_str())};
  }
  return std::nullopt;
}

}  // namespace acid
