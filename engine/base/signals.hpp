#pragma once

#include <algorithm>
#include <array>
#include <csignal>

namespace acid {

/// Whether this process ignores a signal, as nohup makes it ignore SIGHUP. Such a signal must not
/// be blocked in order to wait for it: once blocked, it is delivered all the same.
inline bool ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// The signals by which users, terminals and batch systems end programs: SIGXCPU is the warning
/// before the processor time is used up, SIGUSR1 and SIGUSR2 are passed on by MPI's launchers.
inline constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2};

/// Whether the signal may be a request to stop the process.
inline bool asks_to_stop(int number) {
  return number == SIGKILL ||
         std::find(kStopSignals.begin(), kStopSignals.end(), number) != kStopSignals.end();
}

}  // namespace acid
