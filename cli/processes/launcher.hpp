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
  bool root = false;                                     // Open MPI must be allowed to run as root
  std::function<bool(const std::string&)> is_this_host;  // by its name or address
  std::function<std::string(const std::string&)> find_program;  // path; empty: not installed
  std::function<std::string()> slurm_mpi_plugins;               // as `srun --mpi=list` prints them
  std::function<std::string()> mpirun_version;                  // as `mpirun --version` prints it
  bool built_with_mpi = true;                                   // acid-mpi.so is there
  static Surroundings of_this_process();
};

/// Whether a process that has executed other such runs may execute this one, with the same bits: an
/// analytic task, or a model of acid's own that begins. One that goes on may need another LibTorch
/// than those before it. A module or program of the user, a GPU and MPI may keep threads, memory
/// and settings when a run has ended.
bool may_share_a_process(const RunSettings& settings, bool begins);

/// The command that executes a run under MPI, one process per worker. `worker`: acid-worker's
/// command line without --mpi. Rank 0, which alone opens the store, is on this host.
///
/// mpirun and srun are started through `acid-worker --launch`, so that they end with this process.
/// They are asked to stop by SIGUSR1, which they pass on; at SIGTERM they would kill their
/// processes. execution.mpi.arguments come last of the launcher's own. mpirun distributes workers
/// over hosts in order, as evenly as possible, and binds no process to a core unless the arguments
/// say so.
///
/// With execution.mpi.on_loss = "go-on" (asynchronous methods only) mpirun is told to go on, too;
/// UsageError when mpirun cannot.
///
/// Throws Error when the launcher or acid's MPI module is missing, UsageError when rank 0 would be
/// on another host, or when launcher = "none" and this process was not started once per worker.
Command launch_command(const RunSettings& settings, const std::vector<std::string>& worker,
                       const Surroundings& surroundings);

/// acid-worker's arguments for how long to wait until the other processes have started.
std::vector<std::string> start_words(const MpiSettings& mpi);
/// The time after which a launcher under which no attempt has begun counts as hanging. The
/// processes wait for less (execution.mpi.start_seconds for MPI, for each process, and for their
/// data and the run), and say for what they waited.
double seconds_to_begin(const RunSettings& settings);
/// Whether mpirun certainly starts all processes of a run on this host.
bool stays_on_this_host(const MpiSettings& mpi, const Surroundings& surroundings);
/// The variables that mpirun needs and that are not set yet. `one_host`: Open MPI must use only
/// shared memory and the loopback.
std::vector<std::string> launcher_environment(const Surroundings& surroundings, bool one_host);

/// This process as one of several that a launcher of the user has started.
struct LaunchedProcess {
  int rank = 0;
  int size = 1;
};
/// Read from the variables that Open MPI, PMIx and Slurm set; absent when no launcher has started
/// it.
std::optional<LaunchedProcess> launched_process(const std::vector<std::string>& environment);

/// A process whose death the launcher reported.
struct KilledProcess {
  int rank = 0;
  std::string host;
  int signal = 0;
};
/// Finds such a report in what mpirun or srun printed.
std::optional<KilledProcess> killed_process(std::string_view words);
/// "worker 2 (process 1234 on node7) was killed by SIGKILL". `processes`: from the attempt's
/// environment; null when there was no attempt.
std::string describe(const KilledProcess& killed, const nlohmann::json& processes);

/// Finds in mpirun's output a host that mpirun can no longer reach.
std::optional<std::string> lost_host(std::string_view words);
/// "workers 2 and 3 on node7 were lost: mpirun can no longer reach that host".
std::string describe_lost_host(const std::string& host, const nlohmann::json& processes);

/// What the processes said they were waiting for before the run began; absent when they said
/// nothing.
std::optional<std::string> awaited(std::string_view words);
/// The first complaint among the processes' output; absent when there is none.
std::optional<std::string> first_complaint(std::string_view words);

/// The output of the run's processes, without the launcher's own remarks on how they ended.
std::string without_launcher_remarks(std::string_view words);

}  // namespace acid
