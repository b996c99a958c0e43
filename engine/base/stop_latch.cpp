#include "engine/base/stop_latch.hpp"

#include "engine/base/clock.hpp"

namespace acid {

void StopLatch::set() {
  {
    MutexLock lock(mutex_);
    set_ = true;
  }
  changed_.notify_all();
}

bool StopLatch::is_set() const {
  MutexLock lock(mutex_);
  return set_;
}

void StopLatch::sleep(double seconds) {
  const SteadyClock clock;
  const double until = clock.seconds() + seconds;
  MutexLock lock(mutex_);
  for (double left = seconds; !set_ && left > 0; left = until - clock.seconds())
    changed_.wait_for(mutex_, left);
}

}  // namespace acid
