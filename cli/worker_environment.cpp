#include "cli/worker_environment.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include "cli/build_info.hpp"

namespace acid {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

// Others may hold secrets, and none of them changes a result.
constexpr std::array kRecordedVariables = {
    "OMP_NUM_THREADS",     "MKL_NUM_THREADS",      "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE",
    "ATEN_CPU_CAPABILITY", "CUDA_VISIBLE_DEVICES", "GLIBC_TUNABLES",       "LD_PRELOAD",
    "LD_LIBRARY_PATH",     "ACID_TORCH_MODULE",
};

}  // namespace

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

nlohmann::json environment(const std::string& command_line) {
  const BuildInfo& build = build_info();
  utsname system{};
  uname(&system);
  nlohmann::json variables = nlohmann::json::object();
  for (const char* name : kRecordedVariables)
    if (const char* value = std::getenv(name)) variables[name] = value;
  return {
      {"acid_version", build.version},
      {"git_commit", build.commit},
      {"git_dirty", build.dirty},
      {"git_diff_sha256", build.diff_sha256},
      {"compiler", build.compiler},
      {"compiler_flags", build.flags},
      {"host", system.nodename},
      {"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
      {"cpu_model", cpu_model()},
      {"cores", usable_cores()},
      {"memory_bytes", static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)},
      {"variables", variables},
      {"command_line", command_line}};
}

}  // namespace acid
