#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/drivers/mpi/gradient_pace.hpp"
#include "engine/worker/arena.hpp"
#include "worker/compose.hpp"

namespace acid {

/// What `acid predict --calibrate` asks a calibrating process for.
struct CalibrationOrder {
  nlohmann::json settings;  // of a run, resolved
  int workers_per_node = 1;
  std::vector<int> threads;     // per worker, each of which is measured; last the run's own
  double seconds = 120;         // about how long it may take
  bool only_gradients = false;  // of workers_per_node at once, for `seconds` after the preparation

  /// Reads a file of these, which acid wrote.
  static CalibrationOrder from_text(const std::string& text);
  RunSettings settings_with(int threads) const;
};

/// The time of a calibration, shared among all that is still to be measured, by weight.
class TimeShares {
 public:
  explicit TimeShares(double seconds) : begun_(clock_.seconds()), seconds_(seconds) {}
  void expect(double weight, std::size_t times = 1) {
    weights_ += weight * static_cast<double>(times);
  }
  /// The share of what is measured now, which was expected. Says it on standard error.
  double next(double weight, const std::string& what);

 private:
  const SteadyClock clock_;
  const double begun_, seconds_;
  double weights_ = 0;
};
inline constexpr double kGradientsWeight = 4, kCostWeight = 1;  // of one measurement

/// 1, 2, 4, … and `most`: how many workers compute at once.
std::vector<int> worker_counts(int most);

/// Computes one worker's gradients, one after the other, as a run does.
class GradientTimer {
 public:
  /// `run` outlives this. `lane`: of the objective; one thread at a time per lane. `slow_factor`:
  /// as MpiOptions has it.
  GradientTimer(const ComposedRun& run, int worker, int lane, double slow_factor = 1);
  /// The durations of those that begin within so many seconds, at least two; the first fifth of the
  /// time warms up.
  std::vector<double> measure(double seconds);
  /// Computes one. Returns its duration.
  double compute();
  std::span<const float> x() const { return x_.span(); }
  std::span<const float> buffers() const { return buffers_; }

 private:
  const ComposedRun& run_;
  const int worker_, lane_;
  Arena<float> x_, gradient_;
  std::vector<float> buffers_;
  std::int64_t step_ = 0;
  GradientPace pace_;
};

/// What is measured, in words.
std::string gradients_words(int workers, int threads, const char* where);
/// An entry of [[gradients]].
nlohmann::json gradients_entry(int workers_per_node, int threads,
                               const std::vector<double>& durations);
/// Their mean, in seconds.
double mean_duration(std::span<const double> durations);
/// The mean of the longest of so many durations like these.
double mean_longest(std::vector<double> durations, int count);
/// A pair's exchange in place, and an evaluation: the median of what begins within so many seconds.
double exchange_cost(const ComposedRun& run, const GradientTimer& timer, double seconds);
double sample_cost(const ComposedRun& run, const GradientTimer& timer, double seconds);
/// {"model", "environment"} of this process.
nlohmann::json describe_calibration(const ComposedRun& run);

}  // namespace acid
