#pragma once

#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/mutex.hpp"

namespace acid {

/// Gives a file the time of now, at once and every so many seconds while it lives: a sign that
/// another host sees. A file that is not there is not made.
class Touching {
 public:
  Touching(std::string file, double seconds)
      : file_(std::move(file)), seconds_(seconds), thread_([this] { loop(); }) {}
  ~Touching() {
    {
      const MutexLock lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Touching(const Touching&) = delete;
  Touching& operator=(const Touching&) = delete;

 private:
  void loop() EXCLUDES_LOCK(mutex_) {
    const MutexLock lock(mutex_);
    while (!ended_) {
      std::error_code ignored;
      std::filesystem::last_write_time(file_, std::filesystem::file_time_type::clock::now(),
                                       ignored);
      changed_.wait_for(mutex_, seconds_);
    }
  }

  const std::string file_;
  const double seconds_;
  Mutex mutex_;
  Condition changed_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, so that it finds all others
};

}  // namespace acid
