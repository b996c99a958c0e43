#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/base/stop_latch.hpp"
#include "engine/drivers/threads/threads.hpp"

namespace acid {

/// Makes slow workers slow: one with factor f takes f times as long over a gradient as the workers
/// that are not slowed do at that moment, so the factor means the same on a crowded machine.
class SlowWorkers {
 public:
  /// After a request to stop no worker sleeps: the run saves itself and ends.
  SlowWorkers(const ThreadsOptions& options, const std::stop_token& stop);
  /// Called after a gradient of `worker` that took `seconds`: sleeps if the worker is a slow one.
  void keep(int worker, double seconds) EXCLUDES_LOCK(mutex_);
  /// Wakes all sleeping threads, for good. Any thread.
  void wake() { awake_.set(); }

 private:
  const std::vector<double> factors_;
  const bool all_equal_;
  Mutex mutex_;
  double typical_seconds_ GUARDED_BY(mutex_) = 0;  // moving average over unslowed workers
  StopLatch awake_;
  const std::stop_callback<std::function<void()>> stopping_;
};

}  // namespace acid
