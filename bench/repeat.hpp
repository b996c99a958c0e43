#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "bench/measurement.hpp"

namespace acid::bench {

/// A side that calls `pass` again and again, and how often in a second of the thread's processor
/// time, times `amount`: what a pass does. It is called once to warm up, then until `seconds` of
/// that time are spent. The clock is read between blocks of calls; the blocks double until reading
/// the clock costs nothing beside them.
inline Bench::Side speed_of_pass(double amount, double seconds, std::function<void()> pass) {
  return [amount, seconds, pass = std::move(pass)] {
    pass();
    long calls = 0;
    const Stopwatch watch(Stopwatch::Cpu::thread);
    for (long block = 1; watch.cpu_seconds() < seconds; block *= 2) {
      for (long k = 0; k < block; ++k) pass();
      calls += block;
      if (watch.cpu_seconds() * 2 > seconds) block = std::max(1L, block / 4);
    }
    return Sample{amount * static_cast<double>(calls) / watch.cpu_seconds()};
  };
}

/// "11.2 M parameters", "64 parameters"
inline std::string parameters_text(std::size_t size) {
  const auto count = static_cast<double>(size);
  if (count >= 1e5) return fmt::format("{:.3g} M parameters", count / 1e6);
  return fmt::format("{} parameters", size);
}

}  // namespace acid::bench
