#include "engine/base/clock.hpp"

#include <chrono>

namespace acid {

double SteadyClock::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace acid
