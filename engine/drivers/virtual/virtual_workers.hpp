#pragma once

#include <cstdint>
#include <vector>

#include "engine/drivers/shared/normalised_clock.hpp"
#include "engine/drivers/shared/player.hpp"
#include "engine/drivers/virtual/timetable.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/timeline.hpp"

namespace acid {

/// What each worker of an asynchronous virtual run is doing: it computes, or is held by the
/// throttle, or paused. Normalised time passes as fast as those that compute let it: the clock
/// knows of every gradient in flight, unless its worker is paused. The public thread's; the losses
/// are the player's while their gradients are in flight.
class VirtualWorkers {
 public:
  struct State {
    double duration =
        0;  // seconds, of the gradient in flight; where there is none, of a nominal one
    double backlog_limit = 0;  // constant
    std::int64_t begun = 0;    // gradients begun, each with a duration
    bool held = false;         // by the throttle
    bool paused = false;
    bool measured = false;  // the norm of one of its gradients, since the last sample
    double held_since = 0;  // seconds
    int partner = -1;       // of the exchange in flight, once offered
    double offered = 0;     // when it was, in normalised time
    double idle_seconds = 0;
    double computing_since = kNever;  // seconds; of an earlier attempt: kNever
    double exchanging_since = kNever;
    double loss = 0;  // of the gradient in flight; chain n + i
    template <class Archive>
    void persist(Archive& archive) {
      archive(duration, begun, held, paused, measured, held_since, partner, offered, idle_seconds);
    }
  };

  /// All outlive it; `player` may be constructed later.
  VirtualWorkers(const Run& run, const VirtualOptions& options, Timetable& timetable,
                 Player& player);

  State& state(int w) { return states_[static_cast<std::size_t>(w)]; }
  const State& state(int w) const { return states_[static_cast<std::size_t>(w)]; }
  NormalisedClock& clock() { return clock_; }
  double time_at(double seconds) const {
    return seconds == kNever ? kNever : clock_.time_at(seconds);
  }

  /// The run begins: all workers compute, and pauses are to come.
  void begin();
  void plan_pauses();
  void compute(int w) { player_.compute(w, state(w).loss); }
  /// Worker w begins to compute after having waited (or at the very start).
  void begin_waiting(int w);
  /// It computes the gradient that has begun with the commit before.
  void compute_next(int w);
  void hold(int w);
  /// Returns for how many seconds it was held.
  double release(int w);
  /// A paused worker neither computes nor advances the clock; the end of its gradient was already
  /// put off when it began.
  void pause(int w, bool begins);
  /// What worker w has done since then, which an earlier attempt may have begun, ends now.
  void end_span(int w, SpanKind kind, double since) {
    // Asked first, because with many workers most calls would be for nothing.
    if (w < Timeline::kMostWorkers && since != kNever)
      timeline_.add(w, kind, since, timetable_.seconds());
  }
  /// The next sample tells the norm of one more gradient of each.
  void forget_norms() {
    for (State& s : states_) s.measured = false;
  }
  /// At the end: adds what those have waited who are held to their idle seconds, and to `total`.
  void end_holds(double& total);
  void tell_times(Outcome& outcome);

 private:
  void schedule_gradient(int w);
  /// What a gradient's duration is multiplied by to include the step. Events take no time.
  double with_optimizer() const;

  const RunSpec& spec_;
  const VirtualOptions& options_;
  Timetable& timetable_;
  Player& player_;
  NormalisedClock clock_;
  std::vector<State> states_;
  Timeline timeline_;
};

}  // namespace acid
