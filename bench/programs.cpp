#include "bench/programs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "bench/interruption.hpp"
#include "cli/processes/child.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"

namespace acid::bench {
namespace {

constexpr double kLongestSeconds = 3600;

}  // namespace

std::string acid_program() { return built_program("acid"); }

std::string built_program(const std::string& name) {
  std::string path = program_folder() + "/" + name;
  if (access(path.c_str(), X_OK) != 0)
    throw Error(fmt::format("cannot execute {}: {}; build the target {}", path,
                            std::strerror(errno), name));
  return path;
}

double run_program(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment) {
  const Captured captured = capture(arguments, kLongestSeconds, environment);
  throw_if_interrupted();
  if (!captured.ran)
    throw Error(fmt::format(
        "{} failed: {}", arguments.front(),
        captured.output.empty() ? "it said nothing; see that it is installed" : captured.output));
  return captured.cpu_seconds;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", pid), gone), end;
       !gone && task != end; task.increment(gone)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child = 0; children >> child;) found.push_back(child);
  }
  return found;
}

}  // namespace acid::bench
