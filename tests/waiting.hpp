#pragma once

#include <chrono>
#include <thread>

#include "engine/base/clock.hpp"

namespace acid::test {

/// Asks again and again until the answer is yes; false when it still is no after a minute. For what
/// other threads and processes do: nothing may depend on how soon they do it.
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
