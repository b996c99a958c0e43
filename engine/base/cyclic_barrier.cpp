#include "engine/base/cyclic_barrier.hpp"

namespace acid {

bool CyclicBarrier::wait(const std::function<void()>& leader) {
  MutexLock lock(mutex_);
  if (broken_) return false;
  if (++arrived_ == parties_) {
    if (leader) leader();
    arrived_ = 0;
    ++generation_;
    changed_.notify_all();
    return !broken_;
  }
  const std::int64_t generation = generation_;
  while (!broken_ && generation_ == generation) changed_.wait(mutex_);
  return !broken_;
}

void CyclicBarrier::abort() {
  {
    MutexLock lock(mutex_);
    broken_ = true;
  }
  changed_.notify_all();
}

}  // namespace acid
