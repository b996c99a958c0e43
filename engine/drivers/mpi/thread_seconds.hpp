#pragma once

#include <time.h>

namespace acid {

/// The processor time that the calling thread has used: how much it worked, also on a busy machine.
inline double thread_seconds() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

}  // namespace acid
