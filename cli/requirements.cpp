#include "cli/requirements.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "cli/processes/child.hpp"
#include "cli/processes/launcher.hpp"
#include "cli/processes/machine.hpp"
#include "engine/base/module.hpp"
#include "engine/models/model.hpp"
#include "engine/python/model_templates.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

// Throws when LibTorch is missing and runs of the plan need it on this host. Under MPI it may be on
// other hosts.
void require_model_runtime(const std::vector<RunSettings>& runs, const std::string& recipe) {
  const std::string path = module_path(model_module());
  const bool wanted = std::ranges::any_of(runs, [](const RunSettings& run) {
    return !run.execution.mpi && !run.task.model.is_null() &&
           find_model(text(run.task.model, "kind"))->build != nullptr;
  });
  if (wanted && access(path.c_str(), F_OK) != 0)
    throw UsageError(fmt::format("{} trains a model, and there is no '{}': {}; {}", recipe, path,
                                 model_module().users, remedy(model_module())));
}

// Throws when this machine has no room for the processes of a run. Otherwise very many would be
// started before the first of them reports it.
void require_room(const std::vector<RunSettings>& runs) {
  constexpr std::int64_t kBytesOfProcess = 30'000'000;  // of MPI and the program, without a model
  std::int64_t most = 0;
  for (const RunSettings& run : runs)
    if (const auto& mpi = run.execution.mpi;
        mpi && mpi->launcher == "mpirun" && mpi->hosts.empty() && mpi->hostfile.empty())
      most = std::max<std::int64_t>(most, run.workers);
  const std::int64_t memory = available_memory_bytes();
  rlimit processes{};
  getrlimit(RLIMIT_NPROC, &processes);
  std::int64_t room = memory > 0 ? memory / kBytesOfProcess : INT64_MAX;
  const bool by_memory =
      processes.rlim_cur == RLIM_INFINITY || room < static_cast<std::int64_t>(processes.rlim_cur);
  if (!by_memory) room = static_cast<std::int64_t>(processes.rlim_cur);
  if (most <= room) return;
  throw UsageError(fmt::format(
      "{} workers under mpi are as many processes on this machine, which has room for about {} "
      "({}); use fewer workers, several machines (execution.mpi.hosts), or the driver virtual",
      most, room,
      by_memory ? fmt::format("{} of memory", format_bytes(static_cast<double>(memory)))
                : "its limit of processes, ulimit -u"));
}

void require_launcher(const std::vector<RunSettings>& runs, const std::string& worker) {
  const auto launched = std::ranges::find_if(runs, [](const RunSettings& run) {
    return run.execution.mpi && run.execution.mpi->launcher != "none";
  });
  if (launched == runs.end()) return;
  launch_command(*launched, {worker}, Surroundings::of_this_process());
  require_room(runs);
}

// Throws when a run of the plan needs a GPU on this host and there is none.
void require_device(const std::vector<RunSettings>& runs, const std::string& worker) {
  const bool wanted = std::ranges::any_of(
      runs, [](const RunSettings& run) { return !run.execution.mpi && run.execution.cuda; });
  if (!wanted) return;
  constexpr double kPatienceSeconds = 60;
  const Captured answer = capture({worker, "--environment"}, kPatienceSeconds);
  const auto surroundings = nlohmann::json::parse(answer.output, nullptr, false);
  if (!surroundings.is_object()) return;  // the run itself will report the failure
  const auto cuda = surroundings.find("cuda");
  if (cuda != surroundings.end() && cuda->contains("error"))
    throw UsageError(cuda->at("error").get<std::string>());
}

}  // namespace

void require_what_runs_need(const std::vector<RunSettings>& runs, const std::string& recipe,
                            const std::string& worker) {
  require_model_runtime(runs, recipe);
  require_launcher(runs, worker);
  require_device(runs, worker);
}

bool is_awaited(const std::vector<RunSettings>& runs, const std::string& worker) {
  const auto process = launched_process(Surroundings::of_this_process().environment);
  if (!process || process->size < 2 || runs.empty()) return false;
  const std::optional<MpiSettings>& mpi = runs.front().execution.mpi;
  if (!mpi || mpi->launcher != "none") return false;
  if (runs.size() > 1)
    throw UsageError(
        fmt::format("with execution.mpi.launcher = \"none\" a recipe must ask for one run, since "
                    "MPI starts only once in a process; this one asks for {}: name one algorithm "
                    "and one seed, or use launcher = \"mpirun\"",
                    runs.size()));
  if (process->rank == 0) return true;
  std::vector<std::string> words{worker, "--mpi"};
  const auto more = start_words(*mpi);
  words.insert(words.end(), more.begin(), more.end());
  ModelTemplates::end();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(worker.c_str(), arguments.data());
  throw Error(fmt::format("cannot start {}: {}", worker, std::strerror(errno)));
}

}  // namespace acid
