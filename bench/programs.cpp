#include "bench/programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "bench/interruption.hpp"
#include "bench/measurement.hpp"
#include "cli/processes/child.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"

namespace acid::bench {
namespace {

constexpr double kLongestSeconds = 3600;
constexpr int kAttemptsToRemove = 100;

pid_t start(const std::vector<std::string>& words) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;  // unblocks the signals that this program blocks
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, words[0].c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    throw Error(fmt::format("cannot start {}: {}; see that it is there and can be executed",
                            words[0], std::strerror(failed)));
  return pid;
}

}  // namespace

Scratch::Scratch() {
  path_ = (std::filesystem::temp_directory_path() / "acid-bench-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw Error(fmt::format("cannot make a folder {}; set TMPDIR to where one can be", path_));
}

Scratch::~Scratch() {
  // A process that was just killed may still be making a file.
  std::error_code kept;
  for (int attempt = 0; attempt < kAttemptsToRemove; ++attempt) {
    std::filesystem::remove_all(path_, kept);
    if (!kept) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string Scratch::path(const std::string& name) const {
  return name.empty() ? path_ : path_ + "/" + name;
}

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

Started time_program(const std::vector<std::string>& words) {
  const Stopwatch watch;
  const pid_t pid = start(words);
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, 0, &usage) < 0)
    if (errno != EINTR)
      throw Error(fmt::format("cannot wait for {}: {}", words[0], std::strerror(errno)));
  throw_if_interrupted();
  if (status != 0)
    throw Error(fmt::format("{} ended with {}; its own message says why", fmt::join(words, " "),
                            status_text(status)));
  return {watch.seconds(), cpu_seconds(usage)};
}

void make_big_store(const std::string& folder, int runs, int points) {
  time_program(
      {built_program("acid_big_store"), folder, std::to_string(runs), std::to_string(points)});
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
