#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/base/error.hpp"

namespace acid {

/// A worker's own normalised clock: the gradients of all workers that it knows of ÷ n. It is never
/// ahead of the truth, because news only count committed gradients, and never goes back. Marks stop
/// it until they are passed, and an awaited answer freezes it, so that an exchange can still be at
/// a time that is not before any event of either partner. It begins only once stop_at() was called.
/// Guarded by its user.
class WorkerClock {
 public:
  static constexpr std::int64_t kFree = std::numeric_limits<std::int64_t>::max();

  explicit WorkerClock(int workers) : workers_(workers) {}

  /// The clock, in gradients of all workers.
  std::int64_t count() const { return count_; }
  double time() const { return time_of(count_); }
  double time_of(std::int64_t count) const { return static_cast<double>(count) / workers_; }
  /// The gradients known, also those that the clock may not show yet.
  std::int64_t known() const { return known_; }

  void hear(std::int64_t gradients) {
    known_ = std::max(known_, gradients);
    advance();
  }
  /// This worker has committed a gradient.
  void commit() { hear(known_ + 1); }
  /// An exchange is at this count.
  void lift(std::int64_t count) { count_ = std::max(count_, count); }
  /// The clock does not pass `count` by itself.
  void stop_at(std::int64_t count) {
    limit_ = count;
    advance();
  }
  std::int64_t stop() const { return limit_; }
  /// Whether nothing but the count of stop_at() holds the clock back, or would with the next
  /// gradient.
  bool is_at_stop() const { return frozen_ == 0 && known_ >= limit_; }
  /// Stands still, except for lift(), until thaw() was called as often.
  void freeze() { ++frozen_; }
  void thaw() {
    --frozen_;
    advance();
  }
  /// Resumes from a checkpoint.
  void restore(std::int64_t count, std::int64_t known) {
    count_ = count;
    known_ = known;
  }

 private:
  void advance() {
    if (frozen_ == 0) count_ = std::max(count_, std::min(known_, limit_));
  }

  int workers_;
  int frozen_ = 0;
  std::int64_t known_ = 0, count_ = 0;
  std::int64_t limit_ = 0;  // news may come before the first mark is known
};

/// Gives out the run's gradients, so that together the workers commit exactly as many as it has:
/// each may be ahead of its known progress by about half a second of its own pace, and by ever less
/// as the end comes near.
class Permits {
 public:
  /// `committed`: by each worker so far.
  Permits(std::int64_t budget, const std::vector<std::int64_t>& committed, double seconds)
      : left_(budget) {
    for (const std::int64_t count : committed) {
      workers_.push_back({count, count, seconds, 0});
      left_ -= count;
    }
  }
  /// How many gradients a worker that has committed so many may commit in all. Never decreases.
  std::int64_t grant(int worker, std::int64_t committed, double seconds) {
    constexpr double kSecondsAhead = 0.5;
    constexpr double kWeight = 0.3;  // of the newest pace in the average
    Own& own = workers_[static_cast<std::size_t>(worker)];
    if (committed > own.committed && seconds > own.seconds) {
      const double pace = static_cast<double>(committed - own.committed) / (seconds - own.seconds);
      own.pace += (own.pace == 0 ? 1 : kWeight) * (pace - own.pace);
      own.committed = committed;
      own.seconds = seconds;
    }
    const auto share = left_ / (2 * static_cast<std::int64_t>(workers_.size()));
    const auto ahead = static_cast<std::int64_t>(own.pace * kSecondsAhead);
    const std::int64_t wanted =
        committed + std::clamp<std::int64_t>(ahead, 1, std::max<std::int64_t>(share, 1));
    const std::int64_t more = std::clamp<std::int64_t>(wanted - own.granted, 0, left_);
    own.granted += more;
    left_ -= more;
    return own.granted;
  }
  /// The rest of a worker's grant goes back.
  void take_back(int worker, std::int64_t committed) {
    Own& own = workers_[static_cast<std::size_t>(worker)];
    left_ += own.granted - committed;
    own.granted = committed;
  }
  /// Whether all gradients are granted to some worker.
  bool is_empty() const { return left_ == 0; }
  std::int64_t granted(int worker) const {
    return workers_[static_cast<std::size_t>(worker)].granted;
  }

 private:
  struct Own {
    std::int64_t granted = 0, committed = 0;
    double seconds = 0, pace = 0;  // pace: gradients per second, a moving average
  };
  std::vector<Own> workers_;
  std::int64_t left_ = 0;  // not granted to any worker
};

}  // namespace acid
