#pragma once

#include "engine/base/mutex.hpp"

namespace acid {

/// A flag that threads can sleep on. Set once.
class StopLatch {
 public:
  void set() EXCLUDES_LOCK(mutex_);
  bool is_set() const EXCLUDES_LOCK(mutex_);
  /// Sleeps for `seconds`, or until it is set.
  void sleep(double seconds) EXCLUDES_LOCK(mutex_);

 private:
  mutable Mutex mutex_;
  Condition changed_;
  bool set_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
