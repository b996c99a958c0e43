#pragma once

#include <cstdint>

#include "engine/base/mutex.hpp"
#include "engine/recorder/recorder.hpp"

namespace acid::test {

/// Makes the threads of a run's workers compute so many gradients each in turn: worker 0, 1, …, and
/// again. A worker's gradient and all after it are over when it begins the next. Workers that begin
/// one too many wait until the run has all its gradients.
class TakeTurns {
 public:
  TakeTurns(int workers, std::int64_t rounds) : workers_(workers), rounds_(rounds) {}

  /// For BeforeGradient.
  void wait(int worker, std::int64_t step) {
    MutexLock lock(mutex_);
    if (step > 0) {
      next_ = (step - 1) * workers_ + worker + 1;
      changed_.notify_all();
    }
    while (!over_ && next_ < step * workers_ + worker) changed_.wait(mutex_);
  }
  /// For MemoryRecorder::when_progress.
  void look(const Position& here) {
    MutexLock lock(mutex_);
    over_ = here.gradients >= rounds_ * workers_;
    if (over_) changed_.notify_all();
  }

 private:
  const int workers_;
  const std::int64_t rounds_;
  Mutex mutex_;
  Condition changed_;
  std::int64_t next_ GUARDED_BY(mutex_) = 0;
  bool over_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid::test
