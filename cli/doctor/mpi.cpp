#include <fmt/format.h>
#include <sys/statvfs.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/doctor/checks.hpp"
#include "cli/processes/child.hpp"
#include "cli/processes/launcher.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"
#include "engine/transport/mpi_runtime.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

using nlohmann::json;

void check_library(std::vector<Check>& checks, const Surroundings& around) {
  const auto missing = [&](const std::string& found, const std::string& advice) {
    checks.push_back({"MPI", false, found, advice});
  };
  if (around.find_program("mpirun").empty())
    return missing("no mpirun",
                   "the mpi driver, with workers on several hosts, needs Open MPI; apt-get "
                   "install openmpi-bin");
  if (!around.built_with_mpi)
    return missing(fmt::format("no {}", module_path(mpi_module())),
                   "the mpi driver is not available: " + remedy(mpi_module()));
  Captured answer;
  try {
    answer = capture(
        {"mpirun", "-n", "1", "--bind-to", "none", worker_program(), "--mpi", "--environment"}, 30,
        launcher_environment(around, /*one_host=*/true));
  } catch (const Error&) {  // acid-worker is missing, which was reported before
  }
  const std::size_t begin = answer.output.find('{');
  const json told = begin == std::string::npos
                        ? json()
                        : json::parse(answer.output.substr(begin), nullptr, false);
  if (!answer.ran || !told.is_object()) {
    const std::string words = without_launcher_remarks(answer.output);
    return missing("does not start",
                   words.empty() ? "run it by hand: mpirun -n 1 acid-worker --mpi --environment"
                                 : words.substr(0, words.find('\n')));
  }
  const bool survives = told.value("fault_tolerance", false);
  checks.push_back(
      {"MPI", true,
       fmt::format("{}, thread level {}, {}", told.value("library", std::string()),
                   told.value("thread_level", std::string()),
                   survives ? "built for fault tolerance (execution.mpi.on_loss = \"go-on\")"
                            : "not built for fault tolerance"),
       ""});
}

void check_launchers(std::vector<Check>& checks, const Surroundings& around) {
  std::string found;
  for (const char* launcher : {"mpirun", "srun", "sbatch"})
    if (!around.find_program(launcher).empty())
      found += fmt::format("{}{}", found.empty() ? "" : ", ", launcher);
  if (!found.empty()) checks.push_back({"launchers", true, found, ""});
}

// Checks the memory through which processes of one host hand each other their vectors.
void check_shared_memory(std::vector<Check>& checks, const Surroundings& around) {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return;
  constexpr double kComfortable = 256e6;
  const double bytes = static_cast<double>(status.f_blocks) * static_cast<double>(status.f_frsize);
  const bool roomy = bytes >= kComfortable;
  checks.push_back({"shared memory", roomy, format_bytes(bytes),
                    roomy ? ""
                          : "MPI may not find room for the processes of one host; give the "
                            "container more (docker run --shm-size=1g)"});
  int scope = 0;
  constexpr int kOnlyRoot = 2;
  if (!around.root && std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope &&
      scope >= kOnlyRoot)
    checks.push_back({"direct memory", false, fmt::format("forbidden (ptrace_scope {})", scope),
                      "exchanges between processes of one host are copied twice; as root: sysctl "
                      "kernel.yama.ptrace_scope=1"});
}

}  // namespace

void check_mpi(std::vector<Check>& checks) {
  const Surroundings around = Surroundings::of_this_process();
  check_library(checks, around);
  check_launchers(checks, around);
  check_shared_memory(checks, around);
}

}  // namespace acid
