#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/drivers/shared/normalised_clock.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/run/ensemble.hpp"

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

/// The end of a run: all workers are mixed to this time, and their x is digested.
LoopResult ended(Ensemble& workers, double end, LoopResult result);

/// Time, and the gradients of workers that go on at their own pace: the common part of the loops of
/// meetings and of a server.
class PacedLoop {
 protected:
  PacedLoop(const Run& run, const VirtualOptions& options);

  /// In seconds, infinite if nothing is planned.
  double next_seconds() const { return std::get<0>(agenda_.begin()->first); }
  /// Rounding never turns time back.
  void advance(double time, double seconds);
  /// Does the next planned action.
  void go_on();
  /// Actions happen in the order of seconds, then of workers, then as they were planned.
  /// `after_end`: also when the run's last gradient is over by then.
  void plan(double seconds, int worker, bool after_end, std::function<void()> action);
  /// Draws the duration of the gradient that worker w begins now, and plans what follows it.
  void plan_gradient(int w, std::function<void()> done);
  double& duration(int w) { return durations_[static_cast<std::size_t>(w)]; }
  /// Computes and counts the gradient of worker w, which has begun. Returns the learning rate.
  double compute(int w);
  /// After the last gradient time stands still, and exchanges between workers end.
  LoopResult end();

  const Run& run_;
  const VirtualOptions& options_;
  Ensemble ensemble_;
  NormalisedClock clock_;
  double time_ = 0, seconds_ = 0;
  bool over_ = false;
  LoopResult result_;

 private:
  struct Planned {
    bool after_end = false;
    std::function<void()> action;
  };
  Planned take() { return std::move(agenda_.extract(agenda_.begin()).mapped()); }

  std::map<std::tuple<double, int, std::int64_t>, Planned> agenda_;
  std::int64_t planned_ = 0;
  std::vector<double> durations_;    // by worker, of the gradient in flight
  std::vector<std::int64_t> begun_;  // by worker, gradients
};

}  // namespace acid::test
