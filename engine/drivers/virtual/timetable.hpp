#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "engine/run/run_spec.hpp"

namespace acid {

/// Something that will happen in an asynchronous virtual run.
struct Occurrence {
  enum class Kind : std::uint8_t {
    gradient_done,
    exchange_done,
    pause_begins,
    pause_ends,
    message_arrives,  // at a server, from a worker or, as worker h − hubs, from hub h
    reply_arrives,    // from a server
    pairs_meet        // workers that have become free; the worker is n, after all others
  };
  double seconds = 0;
  std::uint64_t sequence = 0;  // given by the Timetable
  int worker = 0;              // exchange_done: the first of the two
  Kind kind = Kind::gradient_done;
  bool operator>(const Occurrence& other) const {
    if (seconds != other.seconds) return seconds > other.seconds;
    if (worker != other.worker) return worker > other.worker;
    return sequence > other.sequence;
  }
  template <class Archive>
  void persist(Archive& archive) {
    archive(seconds, sequence, worker, kind);
  }
};

/// Whether it is an exchange between workers: nothing else happens after the run's last gradient.
inline bool goes_on_after_end(Occurrence::Kind kind) {
  return kind == Occurrence::Kind::exchange_done || kind == Occurrence::Kind::message_arrives ||
         kind == Occurrence::Kind::reply_arrives;
}

/// How far an asynchronous virtual run is, and what will happen in it, ordered by seconds, then by
/// worker, then as planned.
class Timetable {
 public:
  std::int64_t steps() const { return steps_; }  // taken so far
  void count_step() { ++steps_; }

  // The time of the current step.
  double time() const { return time_; }  // normalised
  double seconds() const { return seconds_; }
  /// Rounding never turns time back.
  void advance_to(double time, double seconds) {
    time_ = std::max(time_, time);
    seconds_ = std::max(seconds_, seconds);
  }

  void push(Occurrence occurrence) {
    occurrence.sequence = sequence_++;
    occurrences_.push(occurrence);
  }
  bool empty() const { return occurrences_.empty(); }
  double next_seconds() const { return empty() ? kNever : occurrences_.top().seconds; }
  Occurrence pop() {
    const Occurrence next = occurrences_.top();
    occurrences_.pop();
    return next;
  }

  template <class Archive>
  void persist(Archive& archive) {
    std::vector<Occurrence> occurrences;
    if constexpr (!Archive::kReads)
      for (auto left = occurrences_; !left.empty(); left.pop()) occurrences.push_back(left.top());
    archive(occurrences, sequence_, steps_, time_, seconds_);
    if constexpr (Archive::kReads)
      for (const Occurrence& occurrence : occurrences) occurrences_.push(occurrence);
  }

 private:
  std::priority_queue<Occurrence, std::vector<Occurrence>, std::greater<>> occurrences_;
  std::uint64_t sequence_ = 0;
  std::int64_t steps_ = 0;
  double time_ = 0, seconds_ = 0;
};

}  // namespace acid
