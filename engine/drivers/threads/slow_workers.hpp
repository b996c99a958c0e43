#pragma once

#include <algorithm>
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
  SlowWorkers(const ThreadsOptions& options, const std::stop_token& stop)
      : factors_(options.slow_factors),
        all_equal_(std::ranges::all_of(factors_, [](double factor) { return factor == 1; })),
        stopping_(stop, [this] { wake(); }) {}
  /// Called after a gradient of `worker` that took `seconds`: sleeps if the worker is a slow one.
  void keep(int worker, double seconds) EXCLUDES_LOCK(mutex_) {
    constexpr double kWeight = 0.1;  // of the newest gradient in the average
    if (all_equal_) return;
    const double factor = factors_[static_cast<std::size_t>(worker)];
    double typical = seconds;
    {
      MutexLock lock(mutex_);
      if (factor == 1)
        typical_seconds_ += (typical_seconds_ == 0 ? 1 : kWeight) * (seconds - typical_seconds_);
      else if (typical_seconds_ > 0)
        typical = typical_seconds_;
    }
    if (factor != 1) awake_.sleep(factor * typical - seconds);
  }
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
