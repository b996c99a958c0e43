#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/worker/arena.hpp"
#include "worker/compose.hpp"

namespace acid {

/// What `acid machines calibrate` asks a calibrating process for.
struct CalibrationOrder {
  nlohmann::json settings;  // of a run, resolved
  int workers_per_node = 1;
  double seconds = 60;  // about how long it may take

  /// Reads a file of {"settings", "workers_per_node", "seconds"}, which acid wrote.
  static CalibrationOrder from_text(const std::string& text);
};

/// 1, 2, 4, … and `most`: how many workers compute at once.
std::vector<int> worker_counts(int most);

/// Computes one worker's gradients, one after the other, as a run does.
class GradientTimer {
 public:
  /// `run` outlives this. `lane`: of the objective; one thread at a time per lane.
  GradientTimer(const ComposedRun& run, int worker, int lane);
  /// The durations of those that begin within so many seconds, at least three; the first fifth of
  /// the time warms up.
  std::vector<double> measure(double seconds);
  std::span<const float> x() const { return x_.span(); }
  std::span<const float> buffers() const { return buffers_; }

 private:
  double compute();

  const ComposedRun& run_;
  const int worker_, lane_;
  Arena<float> x_, gradient_;
  std::vector<float> buffers_;
  std::int64_t step_ = 0;
};

/// An entry of [[gradients]].
nlohmann::json gradients_entry(int workers_per_node, int threads,
                               const std::vector<double>& durations);
/// {"exchange_seconds", "sample_seconds"}: of a pair's exchange in place, and of an evaluation.
nlohmann::json measure_costs(const ComposedRun& run, const GradientTimer& timer);
/// {"model", "environment"} of this process.
nlohmann::json describe_calibration(const ComposedRun& run);

/// Says on standard error what is measured now.
void say_measuring(const std::string& what);

}  // namespace acid
