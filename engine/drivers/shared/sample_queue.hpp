#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "engine/base/mutex.hpp"

namespace acid {

/// Samples on their way, in order, from the thread that measures to the one that evaluates and
/// records, so that measuring does not wait for evaluations. Models to be evaluated take memory: of
/// those only a few wait.
template <class Sample>
class SampleQueue {
 public:
  /// `evaluates`: the sample has a model. Waits while too many have. Returns false if the queue was
  /// abandoned.
  bool add(Sample sample, bool evaluates) EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    while (evaluates && models_ >= kMostModels && !abandoned_) changed_.wait(mutex_);
    if (abandoned_) return false;
    samples_.emplace_back(std::move(sample), evaluates);
    models_ += evaluates ? 1 : 0;
    changed_.notify_all();
    return true;
  }
  /// The first sample, which is on its way until recorded() is called. Nothing: there was none for
  /// so many seconds, or wake() was called, or there will be none.
  std::optional<Sample> next(double seconds) EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    if (samples_.empty() && !closed_ && !woken_) changed_.wait_for(mutex_, seconds);
    woken_ = false;
    return first();
  }
  /// As next(), but waits until there is a sample or there will be none.
  std::optional<Sample> next() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    while (samples_.empty() && !closed_) changed_.wait(mutex_);
    return first();
  }
  void recorded() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    models_ -= samples_.front().second ? 1 : 0;
    samples_.pop_front();
    changed_.notify_all();
  }
  /// Waits until no sample is on its way. Returns false if the queue was abandoned.
  bool wait_until_recorded() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    while (!samples_.empty() && !abandoned_) changed_.wait(mutex_);
    return !abandoned_;
  }

  /// Ends a next() with a time; any thread.
  void wake() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  /// No sample will be added.
  void close() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  /// As close(), and what is on its way will not be recorded. Nothing waits any more.
  void abandon() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    closed_ = abandoned_ = true;
    changed_.notify_all();
  }
  bool is_closed() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    return closed_;
  }

 private:
  std::optional<Sample> first() REQUIRES_LOCK(mutex_) {
    if (samples_.empty() || abandoned_) return std::nullopt;
    return std::move(samples_.front().first);
  }

  static constexpr int kMostModels = 3;

  Mutex mutex_;
  Condition changed_;
  std::deque<std::pair<Sample, bool>> samples_ GUARDED_BY(mutex_);  // and whether it has a model
  int models_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false, abandoned_ GUARDED_BY(mutex_) = false;
  bool woken_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
