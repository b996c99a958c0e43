#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace acid {

/// Normalised time as a function of simulated seconds: it advances at (1/n)·Σ 1/durationᵢ over the
/// workers that are computing, where durationᵢ is that of the gradient in flight. So every gradient
/// advances it by 1/n, evenly while it is computed, and r exchanges per worker and unit are r per
/// gradient for any durations, also where their mean is never realised; a held or paused worker
/// does not advance it (docs/SEMANTICS.md). Piecewise linear; only a change of rate moves the
/// anchor, so reading it never changes later values.
class NormalisedClock {
 public:
  /// `gradient_seconds`: a typical duration, in units of which speeds are counted.
  NormalisedClock(int workers, double gradient_seconds)
      : workers_(workers), unit_(gradient_seconds) {}

  double time_at(double seconds) const { return time_ + (seconds - seconds_) * rate(); }
  /// Infinite while no worker computes.
  double seconds_at(double time) const {
    if (time <= time_) return seconds_;
    if (speeds_ == 0) return std::numeric_limits<double>::infinity();
    return seconds_ + (time - time_) / rate();
  }
  /// A worker begins a gradient of this duration. One of next to no time counts at once.
  void begins(double seconds, double duration) {
    move_anchor(seconds);
    if (takes_no_time(duration))
      time_ += 1.0 / workers_;
    else
      speeds_ += speed(duration);
  }
  /// A worker's gradient of this duration is done or paused.
  void ends(double seconds, double duration) {
    move_anchor(seconds);
    speeds_ -= speed(duration);
  }
  /// A worker's gradient goes on after a pause.
  void goes_on(double seconds, double duration) {
    move_anchor(seconds);
    speeds_ += speed(duration);
  }
  /// A worker's next gradient follows. As ends() and begins(), but equal durations move no anchor.
  void follows(double seconds, double before, double duration) {
    if (before == duration && !takes_no_time(duration)) return;
    ends(seconds, before);
    begins(seconds, duration);
  }
  /// No worker computes any more; time stands still from here on.
  void stop(double seconds, double time) {
    speeds_ = 0;
    seconds_ = seconds;
    time_ = time;
  }
  template <class Archive>
  void persist(Archive& archive) {
    auto high = static_cast<std::int64_t>(speeds_ >> 64);
    auto low = static_cast<std::uint64_t>(speeds_);
    archive(high, low, time_, seconds_);
    speeds_ = static_cast<Speed>(static_cast<Bits>(high) << 64 | low);
  }

 private:
  // In units of 2⁻⁶⁰ gradients per unit_. Sums of whole numbers are exact, so the order in which
  // workers came and went leaves no trace. There is room for 2³⁷ of the fastest.
  __extension__ using Speed = __int128;
  __extension__ using Bits = unsigned __int128;
  static constexpr int kBinaryPlaces = 60;
  static constexpr double kFastest = 1 << 30;

  double rate() const {
    return std::ldexp(static_cast<double>(speeds_), -kBinaryPlaces) / workers_ / unit_;
  }
  bool takes_no_time(double duration) const { return unit_ / duration > kFastest; }
  Speed speed(double duration) const {
    if (takes_no_time(duration)) return 0;
    return static_cast<Speed>(std::ldexp(unit_ / duration, kBinaryPlaces));
  }
  void move_anchor(double seconds) {
    time_ = time_at(seconds);
    seconds_ = seconds;
  }

  int workers_;
  double unit_;
  Speed speeds_ = 0;
  double time_ = 0, seconds_ = 0;
};

}  // namespace acid
