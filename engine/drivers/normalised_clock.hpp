#pragma once

#include <limits>
#include <map>

namespace acid {

/// Normalised time as a function of simulated seconds: it advances at (1/n)·Σ 1/E[durationᵢ] over
/// the workers that are computing, so that one unit is one gradient per worker on average, and a
/// held or paused worker does not advance it (DESIGN §3). Piecewise linear; only a change of rate
/// moves the anchor, so reading it never changes later values.
class NormalisedClock {
 public:
  explicit NormalisedClock(int workers) : workers_(workers) {}

  double time_at(double seconds) const { return time_ + (seconds - seconds_) * rate_; }
  /// Infinite while nobody computes.
  double seconds_at(double time) const {
    if (rate_ == 0) return std::numeric_limits<double>::infinity();
    return seconds_ + (time - time_) / rate_;
  }
  /// A worker whose gradients take mean_seconds on average begins or ends computing.
  void begins(double seconds, double mean_seconds) { change(seconds, mean_seconds, +1); }
  void ends(double seconds, double mean_seconds) { change(seconds, mean_seconds, -1); }
  /// Nobody computes any more; time stands still from here on.
  void stop(double seconds, double time) {
    computing_.clear();
    rate_ = 0;
    seconds_ = seconds;
    time_ = time;
  }
  template <class Archive>
  void persist(Archive& archive) {
    archive(computing_, rate_, time_, seconds_);
  }

 private:
  void change(double seconds, double mean_seconds, int by) {
    time_ = time_at(seconds);
    seconds_ = seconds;
    computing_[mean_seconds] += by;
    // Summed by distinct duration, so the order in which workers came and went leaves no trace.
    double rate = 0;
    for (const auto& [mean, count] : computing_) rate += count / mean;
    rate_ = rate / workers_;
  }

  int workers_;
  std::map<double, int> computing_;  // mean duration → workers
  double rate_ = 0, time_ = 0, seconds_ = 0;
};

}  // namespace acid
