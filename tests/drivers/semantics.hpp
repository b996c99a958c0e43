#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/drivers/virtual/virtual_time.hpp"

namespace acid::test {

/// docs/SEMANTICS.md as three plain loops, one for each calendar: what a run does, event by event,
/// in the order of simulated time. No threads, no samples, no checkpoints, no pauses: those change
/// no bit. A run of the virtual driver ends with the same bits; the other drivers carry out the
/// same events of each worker.
struct LoopResult {
  std::vector<std::string> digests;  // SHA-256 of x at the end, by worker
  std::int64_t gradients = 0;
  std::int64_t exchanges = 0;
  std::int64_t bytes = 0;
};
LoopResult meetings_loop(const Run& run, const VirtualOptions& options);
LoopResult rounds_loop(const Run& run);
LoopResult server_loop(const Run& run, const VirtualOptions& options);

/// What will happen, in one order: by seconds, then by worker, then as it was planned.
class Agenda {
 public:
  /// `after_end`: it happens even if the run's last gradient is over by then.
  void plan(double seconds, int worker, bool after_end, std::function<void()> action) {
    entries_[{seconds, worker, planned_++}] = {after_end, std::move(action)};
  }
  bool empty() const { return entries_.empty(); }
  double next_seconds() const { return std::get<0>(entries_.begin()->first); }
  struct Entry {
    bool after_end = false;
    std::function<void()> action;
  };
  Entry take() { return std::move(entries_.extract(entries_.begin()).mapped()); }

 private:
  std::map<std::tuple<double, int, std::int64_t>, Entry> entries_;
  std::int64_t planned_ = 0;
};

}  // namespace acid::test
