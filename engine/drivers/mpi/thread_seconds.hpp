#pragma once

#include <time.h>

namespace acid {

/// What the calling thread has spent of a processor's time: how much it worked, however busy the
/// machine is.
inline double thread_seconds() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

}  // namespace acid
