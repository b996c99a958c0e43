#pragma once

#include <cstdint>
#include <vector>

#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/drivers/shared/run_shell.hpp"
#include "engine/run/timeline.hpp"

namespace acid {

/// The workers of a synchronous run on threads, and how they spend their time. Thread i owns what
/// belongs to worker i; while all others wait, one thread owns everything.
class RoundWorkers {
 public:
  explicit RoundWorkers(const Run& run);

  double seconds() const { return run_.clock.seconds() - started_seconds_; }  // spent on the run
  /// The position now, after so many legs; without extra bytes.
  Position position(std::int64_t legs) const { return peers_.after_legs(legs, seconds()); }
  /// The position with the extra bytes of all workers so far, which are those of so many legs while
  /// no worker hears anything.
  Position position_of_all(std::int64_t legs) const {
    return shell_.with_extra_bytes(position(legs));
  }
  const PeerSchedule& peers() const { return peers_; }
  RunShell& shell() { return shell_; }
  Ensemble& ensemble() { return shell_.ensemble; }
  EventLog& log() { return shell_.log; }

  // The thread of worker w calls these.
  /// Begins a gradient and computes it.
  void compute(int w);
  /// Commits the gradient; `direction`: the optimiser's input. Returns false for a loss not finite.
  bool step(int w, std::span<const float> direction);
  GradientRecords& notes(int w) { return notes_[static_cast<std::size_t>(w)]; }  // since a sample
  double idle_seconds(int w) const { return idle_seconds_[static_cast<std::size_t>(w)]; }
  void waited(int w, double seconds) { idle_seconds_[static_cast<std::size_t>(w)] += seconds; }
  /// Ends a span of the worker that began at `since` (seconds()). Returns the time now.
  double end_span(int w, SpanKind kind, double since);

  // One thread calls these while all others wait.
  /// Resumes the run's checkpoint, if it has one. Returns the next leg.
  std::int64_t resume();
  /// Saves a cut before that leg. None of its gradients is committed: an attempt that resumes the
  /// cut computes them again.
  void save(std::int64_t leg);
  /// Takes out the notes of all workers, in no order.
  GradientRecords take_notes();
  double idle_seconds() const;  // of all together
  void tell_times(Outcome& outcome);

 private:
  const Run& run_;
  const PeerSchedule peers_;
  double started_seconds_ = 0;  // the time of earlier attempts is before it
  RunShell shell_;
  Timeline timeline_;
  std::vector<GradientRecords> notes_;
  std::vector<double> losses_, idle_seconds_;
  std::vector<std::optional<double>> norms_;
};

}  // namespace acid
