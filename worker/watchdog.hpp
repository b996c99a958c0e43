#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "engine/base/stop_latch.hpp"

namespace acid {

/// Prints why a process of an MPI run ends, on standard error.
void complain(const std::string& message);

/// Ends this process, and through the launcher all others, unless it is destroyed in time. It
/// guards calls inside MPI, where a process that does not answer blocks the others for ever.
class Watchdog {
 public:
  /// `what`: a sentence that says what has not happened when the time is over. One process says it,
  /// rank 0 if possible, and `remedy` after it. `waiting`: returns what rank 0 says, once, when it
  /// takes long; a thread of this object calls it.
  Watchdog(double seconds, std::string what, std::string_view remedy = {},
           std::function<std::string()> waiting = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  StopLatch over_;
  std::thread thread_;
};

inline constexpr std::string_view kWaitLonger = "a larger execution.mpi.start_seconds waits longer";

/// "3 of 8 processes have started; 22 others want the 2 cores of this host". `size` 0: MPI has not
/// said yet how many have.
std::string waiting_words(int here, int size);

}  // namespace acid
