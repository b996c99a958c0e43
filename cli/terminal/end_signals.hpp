#pragma once

#include <csignal>
#include <ctime>

#include "engine/base/signals.hpp"

namespace acid {

/// While it lives, signals that end a command are kept for come_within() and not delivered.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
      if (!ignored(number)) sigaddset(&signals_, number);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  /// True as soon as a signal arrives, false after this time.
  bool come_within(double seconds) {
    const timespec timeout{static_cast<std::time_t>(seconds),
                           static_cast<long>((seconds - static_cast<std::time_t>(seconds)) * 1e9)};
    return sigtimedwait(&signals_, nullptr, &timeout) > 0;
  }

 private:
  sigset_t signals_{}, before_{};
};

}  // namespace acid
