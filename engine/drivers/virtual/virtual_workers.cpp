#include "engine/drivers/virtual/virtual_workers.hpp"

#include <utility>

namespace acid {

VirtualWorkers::VirtualWorkers(const Run& run, const VirtualOptions& options, Timetable& timetable,
                               Player& player)
    : spec_(run.spec),
      options_(options),
      timetable_(timetable),
      player_(player),
      clock_(run.spec.workers, options.compute.gradient_seconds),
      states_(static_cast<std::size_t>(run.spec.workers)),
      timeline_(options.computes() ? run.spec.workers : 0) {
  for (int w = 0; w < run.spec.workers; ++w) {
    state(w).duration = options.compute.mean_seconds(w) * with_optimizer();
    state(w).backlog_limit = run.spec.backlog_limit(w);
  }
}

double VirtualWorkers::with_optimizer() const {
  return options_.gradient_clock == GradientClock::duration ? 1 + options_.cost.optimizer_share : 1;
}

void VirtualWorkers::begin() {
  plan_pauses();
  for (int w = 0; w < spec_.workers; ++w) begin_waiting(w);
}

void VirtualWorkers::plan_pauses() {
  for (const Pause& p : options_.compute.pauses) {
    timetable_.push(
        {.seconds = p.at_seconds, .worker = p.worker, .kind = Occurrence::Kind::pause_begins});
    timetable_.push({.seconds = p.at_seconds + p.for_seconds,
                     .worker = p.worker,
                     .kind = Occurrence::Kind::pause_ends});
  }
}

void VirtualWorkers::begin_waiting(int w) {
  state(w).computing_since = timetable_.seconds();
  if (options_.gradient_clock == GradientClock::duration) {
    player_.begin(w, timetable_.time());
    compute(w);
    schedule_gradient(w);
  }
  clock_.begins(timetable_.seconds(), state(w).duration);
}

void VirtualWorkers::compute_next(int w) {
  compute(w);
  const double before = state(w).duration;
  schedule_gradient(w);
  if (!state(w).paused) clock_.follows(timetable_.seconds(), before, state(w).duration);
}

void VirtualWorkers::schedule_gradient(int w) {
  State& s = state(w);
  const double now = timetable_.seconds();
  s.duration = options_.compute.draw_seconds(w, s.begun, spec_.seeds) * with_optimizer();
  ++s.begun;
  s.computing_since = now;
  timetable_.push({.seconds = options_.compute.end_seconds(w, now, s.duration), .worker = w});
}

bool VirtualWorkers::lasts_on(int w) {
  State& s = state(w);
  const double now = timetable_.seconds();
  if (std::exchange(s.pays, false) && !s.paused) clock_.goes_on(now, s.duration);
  if (s.owed_seconds == 0) return false;
  s.pays = true;
  if (!s.paused) clock_.ends(now, s.duration);
  const double owed = std::exchange(s.owed_seconds, 0);
  timetable_.push({.seconds = options_.compute.end_seconds(w, now, owed), .worker = w});
  return true;
}

void VirtualWorkers::hold(int w) {
  State& s = state(w);
  s.held = true;
  s.held_since = timetable_.seconds();
  if (!s.paused) clock_.ends(timetable_.seconds(), s.duration);
}

double VirtualWorkers::release(int w) {
  State& s = state(w);
  const double held = timetable_.seconds() - s.held_since;
  s.held = false;
  s.idle_seconds += held;
  end_span(w, SpanKind::wait, s.held_since);
  begin_waiting(w);
  return held;
}

void VirtualWorkers::pause(int w, bool begins) {
  State& s = state(w);
  s.paused = begins;
  if (s.held || s.pays || s.begun == 0) return;  // a worker that does not compute is not stopped
  if (begins)
    clock_.ends(timetable_.seconds(), s.duration);
  else
    clock_.goes_on(timetable_.seconds(), s.duration);
}

void VirtualWorkers::end_holds(double& total) {
  for (State& s : states_)
    if (s.held) {
      s.idle_seconds += timetable_.seconds() - s.held_since;
      total += timetable_.seconds() - s.held_since;
    }
}

void VirtualWorkers::tell_times(Outcome& outcome) {
  for (const State& s : states_) outcome.worker_idle_seconds.push_back(s.idle_seconds);
  outcome.worker_spans = timeline_.take();
}

}  // namespace acid
