#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/mutex.hpp"

namespace acid {

/// The threads of a run. The first exception of a thread calls on_failure and is rethrown by
/// join(). When the system refuses to make a thread, start() does the same.
class ThreadGroup {
 public:
  explicit ThreadGroup(std::function<void()> on_failure) : on_failure_(std::move(on_failure)) {}
  ~ThreadGroup();
  void start(std::function<void()> body);
  void join();
  /// As join(), after this thread has done `body` as one of the group: what it throws counts as a
  /// thread's exception.
  void join_after(const std::function<void()>& body);

 private:
  void guard(const std::function<void()>& body);

  const std::function<void()> on_failure_;
  std::vector<std::thread> threads_;  // owner thread only
  Mutex mutex_;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
};

}  // namespace acid
