#include "worker/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/base/worker_words.hpp"
#include "engine/environment/environment.hpp"
#include "worker/mpi.hpp"

namespace acid {
namespace {

constexpr double kQuietSeconds = 8;  // of waiting, before the first message
// The time of all processes runs out at one moment, and the launcher ends the others soon after the
// first one speaks: higher ranks wait longer.
constexpr double kSecondsForLowerRank = 1;
constexpr int kMostSpeakers = 5;

/// How many threads of this host run or want to run; 0 when unknown.
int running_threads() {
  std::ifstream file("/proc/loadavg");
  double one = 0, five = 0, fifteen = 0;
  int running = 0;
  return file >> one >> five >> fifteen >> running ? running : 0;
}

/// "22 threads want the 2 cores of this host"; empty when there is a core for each thread.
std::string crowd_words() {
  const int cores = usable_cores(), running = running_threads();
  return running > cores ? fmt::format("{} threads want the {} cores of this host", running, cores)
                         : std::string();
}

}  // namespace

void complain(const std::string& message) {
  std::cerr << kWorkerErrorPrefix << message << "\n" << std::flush;
}

Watchdog::Watchdog(double seconds, std::string what, std::string_view remedy,
                   std::function<std::string()> waiting)
    : thread_([this, seconds, remedy, what = std::move(what), waiting = std::move(waiting)] {
        const bool tells = waiting && rank_in_environment() == 0 && seconds > kQuietSeconds;
        over_.sleep(tells ? kQuietSeconds : seconds);
        if (tells && !over_.is_set()) {
          std::cerr << kWorkerWaitingPrefix << waiting() << "\n" << std::flush;
          over_.sleep(seconds - kQuietSeconds);
        }
        if (over_.is_set()) return;
        over_.sleep(kSecondsForLowerRank * std::min(rank_in_environment(), kMostSpeakers));
        if (over_.is_set()) return;
        const std::string crowd = crowd_words();
        complain(fmt::format("{} within {} s: {}{}{}", what, seconds,
                             !crowd.empty() ? crowd
                                            : "a process of the run was stopped, or its host "
                                              "cannot be reached",
                             remedy.empty() ? "" : "; ", remedy));
        std::_Exit(static_cast<int>(Exit::lost));
      }) {}

Watchdog::~Watchdog() {
  over_.set();
  thread_.join();
}

std::string waiting_words(int here, int size) {
  const std::string crowd = crowd_words();
  return fmt::format("{}{}; it ends when for execution.mpi.start_seconds no other has come",
                     size == 0 ? std::string("MPI has not started in all processes of the run")
                               : fmt::format("{} of {} processes of the run have come", here, size),
                     crowd.empty() ? "" : ", and " + crowd);
}

}  // namespace acid
