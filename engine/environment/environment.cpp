#include "engine/environment/environment.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/environment/build_info.hpp"

namespace acid {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

// The CPU features by which the mathematical library chooses its routines.
std::string cpu_features() {
  std::string features;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) features += "avx2 ";
  if (__builtin_cpu_supports("fma")) features += "fma ";
  if (__builtin_cpu_supports("avx512f")) features += "avx512f ";
  if (!features.empty()) features.pop_back();
  return features;
}

// Returns the build id among the notes of a loaded object; empty when it has none.
std::string build_id(const dl_phdr_info& object) {
  for (int h = 0; h < object.dlpi_phnum; ++h) {
    const auto& header = object.dlpi_phdr[h];
    if (header.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(object.dlpi_addr + header.p_vaddr);
    const char* const end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* name = at + sizeof note;
      const char* content = name + (note.n_namesz + 3) / 4 * 4;
      const bool gnu = note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0;
      if (gnu && note.n_type == NT_GNU_BUILD_ID) {
        std::string hex;
        for (unsigned k = 0; k < note.n_descsz; ++k)
          hex += fmt::format("{:02x}", static_cast<unsigned char>(content[k]));
        return hex;
      }
      at = content + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return {};
}

int add_program(dl_phdr_info* object, std::size_t, void* programs) {
  std::error_code unreadable;
  const std::string path =
      object->dlpi_name[0] == '\0'
          ? std::filesystem::read_symlink("/proc/self/exe", unreadable).string()
          : std::string(object->dlpi_name);
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.starts_with("acid")) (*static_cast<nlohmann::json*>(programs))[name] = build_id(*object);
  return 0;
}

// Other variables may hold secrets, and none of them changes a result.
constexpr std::array kRecordedVariables = {
    "OMP_NUM_THREADS",     "MKL_NUM_THREADS",      "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE",
    "ATEN_CPU_CAPABILITY", "CUDA_VISIBLE_DEVICES", "GLIBC_TUNABLES",       "LD_PRELOAD",
    "LD_LIBRARY_PATH",     "ACID_TORCH_MODULE",
};

// The batch job that this process belongs to: {"system", "job", "task": of an array}; null: none.
nlohmann::json batch_job() {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr) return nullptr;
  const char* array = std::getenv("SLURM_ARRAY_JOB_ID");
  const char* task = std::getenv("SLURM_ARRAY_TASK_ID");
  nlohmann::json batch{{"system", "slurm"}, {"job", array == nullptr ? job : array}};
  if (task != nullptr) batch.emplace("task", std::atoi(task));
  return batch;
}

}  // namespace

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int cores = std::max(1, CPU_COUNT(&set));
  // Some clusters do not bind a job to the cores that it got.
  const char* got = std::getenv("SLURM_CPUS_ON_NODE");
  return got == nullptr ? cores : std::clamp(std::atoi(got), 1, cores);
}

nlohmann::json own_programs() {
  nlohmann::json programs = nlohmann::json::object();
  dl_iterate_phdr(add_program, &programs);
  return programs;
}

nlohmann::json environment(const std::string& command_line) {
  const BuildInfo& build = build_info();
  utsname system{};
  uname(&system);
  nlohmann::json variables = nlohmann::json::object();
  for (const char* name : kRecordedVariables)
    if (const char* value = std::getenv(name)) variables[name] = value;
  nlohmann::json all{
      {"acid_version", build.version},
      {"git_commit", build.commit},
      {"git_dirty", build.dirty},
      {"git_diff_sha256", build.diff_sha256},
      {"compiler", build.compiler},
      {"compiler_flags", build.flags},
      {"host", system.nodename},
      {"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
      {"programs", own_programs()},
      {"c_library", fmt::format("glibc {}", gnu_get_libc_version())},
      {"cpu_features", cpu_features()},
      {"cpu_model", cpu_model()},
      {"cores", usable_cores()},
      {"memory_bytes", static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)},
      {"variables", variables},
      {"command_line", command_line}};
  if (const nlohmann::json job = batch_job(); !job.is_null()) all["batch"] = job;
  return all;
}

}  // namespace acid
