#include "worker/watchdog.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/base/worker_words.hpp"
#include "engine/environment/environment.hpp"
#include "worker/mpi.hpp"

namespace acid {
namespace {

constexpr double kQuietSeconds = 8;  // of waiting, until it is told

/// How many threads run or want to, on this host; 0 when it cannot be told.
int running_threads() {
  std::ifstream file("/proc/loadavg");
  double one = 0, five = 0, fifteen = 0;
  int running = 0;
  return file >> one >> five >> fifteen >> running ? running : 0;
}

}  // namespace

void complain(const std::string& message) {
  std::cerr << kWorkerErrorPrefix << message << "\n" << std::flush;
}

Watchdog::Watchdog(double seconds, std::string what, std::function<std::string()> waiting)
    : thread_([this, seconds, what = std::move(what), waiting = std::move(waiting)] {
        const bool tells = waiting && rank_in_environment() == 0 && seconds > kQuietSeconds;
        over_.sleep(tells ? kQuietSeconds : seconds);
        if (tells && !over_.is_set()) {
          std::cerr << kWorkerWaitingPrefix << waiting() << "\n" << std::flush;
          over_.sleep(seconds - kQuietSeconds);
        }
        if (over_.is_set()) return;
        complain(
            fmt::format("{} within {} s: a process of the run was stopped, or its host "
                        "cannot be reached",
                        what, seconds));
        std::_Exit(static_cast<int>(Exit::lost));
      }) {}

Watchdog::~Watchdog() {
  over_.set();
  thread_.join();
}

std::string waiting_words(int here, int size) {
  const int cores = usable_cores();
  const int running = running_threads();
  return fmt::format(
      "{}{}; it ends when for execution.mpi.start_seconds no other has come",
      size == 0 ? std::string("MPI has not started in all processes of the run")
                : fmt::format("{} of {} processes of the run have come", here, size),
      running > cores
          ? fmt::format(", and {} threads want the {} cores of this host", running, cores)
          : std::string());
}

}  // namespace acid
