#pragma once

#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/stop_latch.hpp"

namespace acid {

/// Gives a file the time of now, at once and every so many seconds while it lives: a sign that
/// another host sees. A file that is not there is not made.
class Touching {
 public:
  Touching(std::string file, double seconds)
      : thread_([this, file = std::move(file), seconds] {
          for (; !ended_.is_set(); ended_.sleep(seconds)) {
            std::error_code ignored;
            const auto now = std::filesystem::file_time_type::clock::now();
            std::filesystem::last_write_time(file, now, ignored);
          }
        }) {}
  ~Touching() {
    ended_.set();
    thread_.join();
  }
  Touching(const Touching&) = delete;
  Touching& operator=(const Touching&) = delete;

 private:
  StopLatch ended_;
  std::thread thread_;  // last, so that it finds the latch
};

}  // namespace acid
