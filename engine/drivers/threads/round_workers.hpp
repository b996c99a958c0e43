#pragma once

#include <cstdint>
#include <vector>

#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/drivers/shared/run_shell.hpp"
#include "engine/run/timeline.hpp"

namespace acid {

/// The workers of a synchronous run on threads, and how they spend their time. What belongs to
/// worker i is thread i's, and everything is one thread's while all others wait.
class RoundWorkers {
 public:
  explicit RoundWorkers(const Run& run);

  double seconds() const { return run_.clock.seconds() - started_seconds_; }  // spent on the run
  /// After so many legs, now; without extra bytes.
  Position position(std::int64_t legs) const { return peers_.after_legs(legs, seconds()); }
  /// With those that have come by now, which are those of so many legs while no worker hears
  /// anything.
  Position position_of_all(std::int64_t legs) const {
    return shell_.with_extra_bytes(position(legs));
  }
  const PeerSchedule& peers() const { return peers_; }
  RunShell& shell() { return shell_; }
  Ensemble& ensemble() { return shell_.ensemble; }
  EventLog& log() { return shell_.log; }

  // Of worker w.
  /// A gradient begins and is computed.
  void compute(int w);
  /// It is committed; `direction`: what the optimiser is given. False where its loss is not finite.
  bool step(int w, std::span<const float> direction);
  GradientRecords& notes(int w) { return notes_[static_cast<std::size_t>(w)]; }  // since a sample
  double idle_seconds(int w) const { return idle_seconds_[static_cast<std::size_t>(w)]; }
  void waited(int w, double seconds) { idle_seconds_[static_cast<std::size_t>(w)] += seconds; }
  /// What the worker has done since then, by seconds(), ends now. Returns the time that it is.
  double end_span(int w, SpanKind kind, double since);

  // Of all.
  /// Goes on from the run's checkpoint, if it has one. Returns the leg that is next.
  std::int64_t resume();
  /// Before that leg, none of whose gradients is committed: an attempt that goes on from there
  /// computes them again.
  void save(std::int64_t leg);
  /// Leaves none. In no order.
  GradientRecords take_notes();
  double idle_seconds() const;  // of all together
  void tell_times(Outcome& outcome);

 private:
  const Run& run_;
  const PeerSchedule peers_;
  double started_seconds_ = 0;  // earlier attempts' time is before it
  RunShell shell_;
  Timeline timeline_;
  std::vector<GradientRecords> notes_;
  std::vector<double> losses_, idle_seconds_;
  std::vector<std::optional<double>> norms_;
};

}  // namespace acid
