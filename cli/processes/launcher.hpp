#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/processes/child.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// What a launcher's command line depends on besides the run.
struct Surroundings {
  std::vector<std::string> environment;                  // "NAME=VALUE"
  bool root = false;                                     // Open MPI has to be told that it may
  std::function<bool(const std::string&)> is_this_host;  // by its name or address
  std::function<std::string(const std::string&)> find_program;  // path; empty: not installed
  std::function<std::string()> slurm_mpi_plugins;               // as `srun --mpi=list` prints them
  std::function<std::string()> mpirun_version;                  // as `mpirun --version` prints it
  bool built_with_mpi = true;                                   // acid-mpi.so is there
  static Surroundings of_this_process();
};

/// The command that executes a run under MPI, one process per worker. `worker`: acid-worker's
/// command line but for --mpi. Rank 0, which alone opens the store, is on this host.
///
/// mpirun and srun are started through `acid-worker --launch`, which ties their life to ours. They
/// are asked to stop by SIGUSR1, which they pass on; SIGTERM would have them kill their processes.
/// execution.mpi.arguments come last of the launcher's own. mpirun places workers on hosts in
/// order, as evenly as can be, and no process is bound to a core unless the arguments say so.
///
/// With execution.mpi.on_loss = "go-on" mpirun is told to go on too; of asynchronous methods only.
///
/// Throws UsageError where mpirun cannot.
/// Throws Error when the launcher or acid's MPI module is missing, UsageError when rank 0 would be
/// on another host, or when launcher = "none" and this process was not started once per worker.
Command launch_command(const RunSettings& settings, const std::vector<std::string>& worker,
                       const Surroundings& surroundings);

/// What acid-worker is told of how long to wait for the others to start.
std::vector<std::string> start_words(const MpiSettings& mpi);
/// After which time a launcher that no attempt has begun under hangs: the processes wait for less
/// (execution.mpi.start_seconds for MPI, for each of them, and for their data and the run), and say
/// what they waited for.
double seconds_to_begin(const RunSettings& settings);
/// Whether mpirun is sure to start all processes of a run on this host.
bool stays_on_this_host(const MpiSettings& mpi, const Surroundings& surroundings);
/// What mpirun needs in its environment, as far as it is not there already. `one_host`: Open MPI is
/// to keep to shared memory and the loopback.
std::vector<std::string> launcher_environment(const Surroundings& surroundings, bool one_host);

/// This process as one of several that a launcher of the person's own has started.
struct LaunchedProcess {
  int rank = 0;
  int size = 1;
};
/// By the variables that Open MPI, PMIx and Slurm set; absent when none has started it.
std::optional<LaunchedProcess> launched_process(const std::vector<std::string>& environment);

/// A process whose death the launcher told of.
struct KilledProcess {
  int rank = 0;
  std::string host;
  int signal = 0;
};
/// In what mpirun or srun printed.
std::optional<KilledProcess> killed_process(std::string_view words);
/// "worker 2 (process 1234 on node7) was killed by SIGKILL". `processes`: as an attempt's
/// environment has them; null when there was none.
std::string describe(const KilledProcess& killed, const nlohmann::json& processes);

/// A host that mpirun can no longer reach, in what it printed.
std::optional<std::string> lost_host(std::string_view words);
/// "workers 2 and 3 on node7 were lost: mpirun can no longer reach that host".
std::string describe_lost_host(const std::string& host, const nlohmann::json& processes);

/// What the processes said, before the run began, that they wait for; absent when they said
/// nothing.
std::optional<std::string> awaited(std::string_view words);
/// What the first of the processes complained of that did complain; absent when none did.
std::optional<std::string> first_complaint(std::string_view words);

/// What the run's processes printed, without the launcher's own remarks on how they ended.
std::string without_launcher_remarks(std::string_view words);

}  // namespace acid
