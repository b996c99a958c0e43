#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/rng.hpp"

namespace acid {

/// The Poisson clocks of all workers' gradients, of one rate, superposed: rings at n times that
/// rate, each of a worker drawn uniformly. A caller that pauses a worker ignores its rings: the
/// clock has no memory, so the rings after the pause are those of a Poisson clock again.
///
/// A pure function of the compute seed. Not thread-safe.
class GradientRings {
 public:
  struct Ring {
    double seconds = 0;
    int worker = 0;
  };

  /// mean_seconds: between two rings of one worker.
  GradientRings(int workers, double mean_seconds, const Seeds& seeds);
  const Ring& peek() const { return drawn_[next_]; }
  Ring pop() {
    const Ring ring = drawn_[next_];
    next_ = (next_ + 1) % kDrawn;
    if (next_ % kPortion == 0) draw((next_ + kDrawn - kPortion) % kDrawn);
    return ring;
  }
  /// As EdgeSchedule::ahead().
  const Ring& ahead(std::size_t places) const { return drawn_[(next_ + places) % kDrawn]; }

  /// The clocks' state. Throws Error for an impossible one.
  template <class Archive>
  void persist(Archive& archive) {
    Start start = starts_[next_ / kPortion];
    std::uint64_t within = next_ % kPortion;
    archive(start.portion, start.seconds, within);
    if constexpr (Archive::kReads) restore(start, within);
  }

 private:
  static constexpr std::size_t kPortion = 32, kDrawn = 4 * kPortion;

 public:
  static constexpr std::size_t kAhead = kDrawn - kPortion;

 private:
  /// The start of a portion of rings. Each portion is drawn from a stream of its own.
  struct Start {
    std::uint64_t portion = 0;
    double seconds = 0;  // time of the last ring before the portion
  };
  void draw(std::size_t begin);
  void restore(const Start& start, std::uint64_t within);

  int workers_;
  double mean_gap_;
  std::uint64_t key_;
  std::array<Ring, kDrawn> drawn_;  // ring buffer of portions
  std::array<Start, kDrawn / kPortion> starts_;
  Start next_portion_;
  std::size_t next_ = 0;  // index in drawn_
};

}  // namespace acid
