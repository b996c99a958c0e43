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
/// throttle, or is paused. The workers that compute determine how fast normalised time passes: the
/// clock knows every gradient in flight whose worker is not paused. Belongs to the public thread;
/// the losses belong to the player while their gradients are in flight.
class VirtualWorkers {
 public:
  struct State {
    double duration = 0;       // seconds of the gradient in flight; without one, a nominal duration
    double backlog_limit = 0;  // constant
    std::int64_t begun = 0;    // gradients begun, each with a duration
    bool held = false;         // by the throttle
    bool paused = false;
    bool measured = false;  // the norm of one of its gradients since the last sample is known
    double held_since = 0;  // seconds
    int partner = -1;       // of the exchange in flight, once offered
    double offered = 0;     // normalised time of the offer
    double idle_seconds = 0;
    double owed_seconds = 0;          // of its own time, for exchanges that are over
    bool pays = false;                // its gradient is computed, and lasts on for what it owed
    double computing_since = kNever;  // seconds; of an earlier attempt: kNever
    double exchanging_since = kNever;
    double loss = 0;  // of the gradient in flight; chain n + i
    template <class Archive>
    void persist(Archive& archive) {
      archive(duration, begun, held, paused, measured, held_since, partner, offered, idle_seconds);
    }
  };

  /// The arguments outlive this; `player` may be constructed later.
  VirtualWorkers(const Run& run, const VirtualOptions& options, Timetable& timetable,
                 Player& player);

  State& state(int w) { return states_[static_cast<std::size_t>(w)]; }
  const State& state(int w) const { return states_[static_cast<std::size_t>(w)]; }
  NormalisedClock& clock() { return clock_; }
  double time_at(double seconds) const {
    return seconds == kNever ? kNever : clock_.time_at(seconds);
  }

  /// Begins the run: all workers compute, and pauses are to come.
  void begin();
  void plan_pauses();
  void compute(int w) { player_.compute(w, state(w).loss); }
  /// Worker w begins to compute after a wait, or at the very start.
  void begin_waiting(int w);
  /// Worker w computes the gradient that began with its last commit.
  void compute_next(int w);
  /// Worker w's gradient is computed. Returns true if it lasts on, because the worker owes time for
  /// exchanges; the clock stands still for it meanwhile, and the gradient's end comes again.
  bool lasts_on(int w);
  void hold(int w);
  /// Ends a hold. Returns its seconds.
  double release(int w);
  /// A worker's exchange is over.
  void owe(int w) { state(w).owed_seconds += options_.cost.exchange_seconds; }
  /// What workers owe; nothing is archived where exchanges cost them nothing.
  template <class Archive>
  void persist_debts(Archive& archive) {
    if (options_.cost.exchange_seconds == 0) return;
    for (State& s : states_) archive(s.owed_seconds, s.pays);
  }
  /// Begins or ends a pause: the worker neither computes nor advances the clock. The end of its
  /// gradient was already put off when the gradient began.
  void pause(int w, bool begins);
  /// Ends the span of worker w that began at `since`, maybe in an earlier attempt.
  void end_span(int w, SpanKind kind, double since) {
    // Most calls with many workers would do nothing.
    if (w < Timeline::kMostWorkers && since != kNever)
      timeline_.add(w, kind, since, timetable_.seconds());
  }
  /// The next sample reports the norm of one more gradient of each worker.
  void forget_norms() {
    for (State& s : states_) s.measured = false;
  }
  /// Ends all holds with the run: adds their seconds to the workers' idle seconds and to `total`.
  void end_holds(double& total);
  void tell_times(Outcome& outcome);

 private:
  void schedule_gradient(int w);
  /// The factor by which the step lengthens a gradient. Events take no time.
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
