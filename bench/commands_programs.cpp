#include "bench/commands_programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "bench/interruption.hpp"
#include "bench/programs.hpp"
#include "cli/processes/child.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"

namespace acid::bench {
namespace {

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

Started median_start(const std::vector<std::string>& words, int starts) {
  std::vector<double> seconds, cpu;
  for (int k = 0; k < starts; ++k) {
    const Started started = time_program(words);
    seconds.push_back(started.seconds);
    cpu.push_back(started.cpu_seconds);
  }
  return {spread_of(std::move(seconds)).median, spread_of(std::move(cpu)).median};
}

}  // namespace

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

std::string idle_program() {
  const std::string path = find_program("true");
  if (path.empty()) throw Error("there is no program 'true'; see that PATH leads to it");
  return path;
}

void make_big_store(const std::string& folder, int runs, int points) {
  time_program(
      {built_program("acid_big_store"), folder, std::to_string(runs), std::to_string(points)});
}

void measure_program(Bench& bench, const ProgramRow& row) {
  const std::vector<std::string> idle{idle_program()};
  std::vector<Sample> cpu, idle_cpu;
  const auto side = [&](const std::vector<std::string>& words, std::vector<Sample>& cpu_of) {
    return [&] {
      const Started started = median_start(words, row.starts);
      cpu_of.push_back({1e3 * started.cpu_seconds});
      return Sample{1e3 * started.seconds};
    };
  };
  const auto samples = bench.interleave(row.what, {side(row.words, cpu), side(idle, idle_cpu)});
  const std::string peer = "starting 'true'";
  const Wanted wanted = value_at_most(row.most_milliseconds);
  bench.add({row.what, "ms", peer, wanted, samples[0], samples[1]});
  bench.add({row.what + ", processor time", "ms", peer, {}, cpu, idle_cpu});
}

}  // namespace acid::bench
