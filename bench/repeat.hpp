#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/measurement.hpp"

namespace CLI {
class App;
}

namespace acid::bench {

/// The cost of one call of a function.
struct PerCall {
  double seconds = 0;
  double cpu_seconds = 0;  // of the calling thread
};

/// Calls `pass` once to warm up, then repeatedly until `seconds` of the thread's processor time are
/// spent. The clock is read between blocks of calls; the blocks double until reading the clock
/// costs nothing beside them.
template <class Pass>
PerCall repeat(double seconds, const Pass& pass) {
  pass();
  long calls = 0;
  const Stopwatch watch(Stopwatch::Cpu::thread);
  for (long block = 1; watch.cpu_seconds() < seconds; block *= 2) {
    for (long k = 0; k < block; ++k) pass();
    calls += block;
    if (watch.cpu_seconds() * 2 > seconds) block = std::max(1L, block / 4);
  }
  return {watch.seconds() / static_cast<double>(calls),
          watch.cpu_seconds() / static_cast<double>(calls)};
}

/// "11.2 M parameters", "64 parameters"
std::string parameters_text(std::size_t size);

/// --gradients of a run.
std::shared_ptr<int> add_gradients_option(CLI::App& app, int gradients);

/// --parameters, a list; by default the sizes of the budgets: 0.67 M, which fits into a cache, and
/// 11.2 M, which does not.
std::shared_ptr<std::vector<std::size_t>> add_parameters_option(CLI::App& app,
                                                                std::vector<std::size_t> sizes = {
                                                                    670'000, 11'200'000});

}  // namespace acid::bench
