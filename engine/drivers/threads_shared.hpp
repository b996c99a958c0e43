#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/mutex.hpp"
#include "engine/drivers/ensemble.hpp"
#include "engine/drivers/sampler.hpp"
#include "engine/drivers/threads.hpp"

namespace acid {

/// A flag that threads can sleep on. Set once.
class Closing {
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

/// A barrier that can be used again and again, and broken. Waiting threads sleep.
class CyclicBarrier {
 public:
  explicit CyclicBarrier(int parties) : parties_(parties) {}
  /// Returns when all parties have come; the last one runs `leader` while the others wait. False
  /// once the barrier is broken.
  bool wait(const std::function<void()>& leader = {}) EXCLUDES_LOCK(mutex_);
  /// Frees everybody, for ever.
  void abort() EXCLUDES_LOCK(mutex_);

 private:
  const int parties_;
  Mutex mutex_;
  Condition changed_;
  int arrived_ GUARDED_BY(mutex_) = 0;
  std::int64_t generation_ GUARDED_BY(mutex_) = 0;
  bool broken_ GUARDED_BY(mutex_) = false;
};

/// The threads of a run. The first exception of any of them calls on_failure and is rethrown by
/// join(); so does, in start(), the system's refusal to make another.
class Crew {
 public:
  explicit Crew(std::function<void()> on_failure) : on_failure_(std::move(on_failure)) {}
  ~Crew();
  void start(std::function<void()> body);
  void join();

 private:
  const std::function<void()> on_failure_;
  std::vector<std::thread> threads_;  // owner thread only
  Mutex mutex_;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
};

/// Evaluation on the calling thread, on the objective's last lane.
ParallelFor sequential_for(int lane);

/// Makes slow workers slow: one with factor f takes f times as long over a gradient as the workers
/// that are not slowed do at that moment, so the factor means the same on a crowded machine.
class Pace {
 public:
  explicit Pace(const ThreadsOptions& options);
  /// After a gradient of `worker` that took `seconds`: sleeps, if the worker is a slow one.
  void keep(int worker, double seconds, Closing& closing) EXCLUDES_LOCK(mutex_);

 private:
  const std::vector<double> factors_;
  const bool all_equal_;
  Mutex mutex_;
  double typical_seconds_ GUARDED_BY(mutex_) = 0;  // moving average over unslowed workers
};

}  // namespace acid
