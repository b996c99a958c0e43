#pragma once

#include <cstdint>
#include <functional>

#include "engine/base/mutex.hpp"

namespace acid {

/// A barrier that can be used again and again, and broken. Waiting threads sleep.
class CyclicBarrier {
 public:
  explicit CyclicBarrier(int parties) : parties_(parties) {}
  /// Returns when all parties have come; the last one runs `leader` while the others wait. False
  /// once the barrier is broken.
  bool wait(const std::function<void()>& leader = {}) EXCLUDES_LOCK(mutex_);
  /// Breaks the barrier for ever: every waiting or later wait() returns false.
  void abort() EXCLUDES_LOCK(mutex_);

 private:
  const int parties_;
  Mutex mutex_;
  Condition changed_;
  int arrived_ GUARDED_BY(mutex_) = 0;
  std::int64_t generation_ GUARDED_BY(mutex_) = 0;
  bool broken_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
