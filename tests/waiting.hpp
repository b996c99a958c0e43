#pragma once

#include <chrono>
#include <thread>

#include "engine/base/clock.hpp"

namespace acid::test {

/// Asks repeatedly until the answer is yes; false when it is still no after a minute. For the work
/// of other threads and processes: no test may depend on how soon it is done.
template <class Question>
bool comes_true(const Question& question) {
  const SteadyClock clock;
  for (const double begun = clock.seconds(); !question();) {
    if (clock.seconds() - begun > 60) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace acid::test
