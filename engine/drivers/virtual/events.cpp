#include "engine/drivers/virtual/events.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

// Events this close in normalised time are simultaneous; a sample comes after them. Relative,
// because event times are sums of many durations.
double simultaneous(double time) { return 1e-9 * std::max(1.0, time); }

// A time beyond a limit by rounding alone is not late.
double late(double limit) { return limit * (1 + 1e-9); }

}  // namespace

EventState::EventState(const Run& its_run, const VirtualOptions& its_options)
    : run(its_run),
      spec(its_run.spec),
      options(its_options),
      shell(run, [this](int count, const auto& body) { player.pool().parallel_for(count, body); },
            {.gradients = options.computes() && options.gradient_clock != GradientClock::none,
             .computes = options.computes()}),
      workers(run, options, timetable, player),
      player(shell, options.threads) {}

void EventState::count_gradient() {
  ++totals.position.gradients;
  totals.position.normalised_time = timetable.time();
  totals.position.seconds = timetable.seconds();
  totals.learning_rate = spec.learning_rate(totals.position);
  if (totals.position.gradients % 16 == 0) player.tell_progress(totals.position);
}

void EventState::commit(Commit what) {
  if (!options.computes()) return;
  VirtualWorkers::State& s = workers.state(what.worker);
  what.time = timetable.time();
  what.position = totals.position;
  what.is_first = !std::exchange(s.measured, true);
  player.commit(what, s.loss, notes.emplace_back());
}

void EventState::look_for_end() {
  const Budget& budget = spec.budget;
  if (budget.bytes < kNever) totals.position.bytes += player.take_extra_bytes();
  const bool counted = budget.normalised_time == kNever;
  ended = ended || (counted && totals.position.gradients >= budget.gradients) ||
          static_cast<double>(totals.position.bytes) >= budget.bytes;
}

VirtualEvents::VirtualEvents(const Run& run, const VirtualOptions& options, MakeCalendar make)
    : state_(run, options) {
  calendar_ = make(state_);
  if (state_.shell.resume(virtual_state_layout(run.spec), *calendar_))
    calendar_->resume(*run.checkpointing.resume);
  else
    calendar_->begin();
}

void VirtualEvents::save_cut() {
  state_.player.pool().wait_light();
  if (state_.player.diverged()) return;
  state_.shell.mark_cut(state_.shell.mixing_time(state_.timetable.time()));
  state_.shell.save(state_.timetable.steps(), state_.totals.position,
                    virtual_state_layout(state_.spec), *calendar_, calendar_->vectors());
}

Outcome VirtualEvents::execute() {
  RunShell& shell = state_.shell;
  Timetable& timetable = state_.timetable;
  Player& player = state_.player;
  Position& position = state_.totals.position;
  bool over = false;
  while (!over && !state_.ended && !state_.run.stop.stop_requested() && !player.diverged()) {
    if (shell.cut_is_due(timetable.steps(), position)) save_cut();
    over = !step();
    timetable.count_step();
  }
  player.pool().wait_light();  // a commit that has not run yet may be the one that diverges
  if (!over && !state_.ended && !player.diverged()) {
    if (shell.last_cut_is_due(timetable.steps())) save_cut();
    return shell.stopped(position);
  }
  player.pool().wait_all();
  if (!diverged()) drain();
  player.pool().wait_all();
  position.bytes += player.take_extra_bytes();
  // How much was begun when the commit that diverged was carried out is a matter of luck.
  if (player.diverged() && !shell.sampler.diverged()) position = {};
  state_.workers.end_holds(state_.totals.idle_seconds);
  return shell.end(shell.mixing_time(timetable.time()), state_.totals, state_.notes,
                   [this](Outcome& outcome) {
                     state_.workers.tell_times(outcome);
                     calendar_->tell(outcome);
                   });
}

bool VirtualEvents::step() {
  Timetable& timetable = state_.timetable;
  VirtualWorkers& workers = state_.workers;
  const Budget& budget = state_.spec.budget;
  const double limit = time_limit();
  const double ring = calendar_->next_ring();
  const double next_seconds = std::min(ring, timetable.next_seconds());
  const double next = workers.time_at(next_seconds);
  const double due = calendar_->next_due();
  const double sample_seconds = state_.shell.sampler.sample_times().next_seconds();
  const bool by_clock = sample_seconds < kNever;
  const double sample = !state_.options.computes() ? kNever
                        : by_clock                 ? workers.time_at(sample_seconds)
                                                   : state_.shell.sampler.sample_times().next();
  if (due <= std::min({next, sample, limit})) {
    timetable.advance_to(due, workers.clock().seconds_at(due));
    calendar_->handle_due();
  } else if (by_clock ? sample_seconds < std::min(next_seconds, budget.seconds) && sample <= limit
                      : sample < std::min(next, limit) - simultaneous(sample)) {
    timetable.advance_to(sample, by_clock ? sample_seconds : workers.clock().seconds_at(sample));
    take_sample(by_clock ? timetable.time() : sample);
    return !state_.shell.enough();
  } else if (next > limit + simultaneous(limit) || next_seconds > late(budget.seconds)) {
    // Seconds are compared too, because normalised time stands still while no worker computes, and
    // a limit in seconds that is converted to normalised time and back changes by a rounding error.
    const bool by_seconds = budget.seconds < kNever && limit < budget.normalised_time;
    timetable.advance_to(limit, by_seconds ? budget.seconds : workers.clock().seconds_at(limit));
    return false;
  } else {
    ACID_ASSERT(next_seconds < kNever, "nothing can happen at {} s", timetable.seconds());
    timetable.advance_to(next, next_seconds);
    if (ring == next_seconds)
      calendar_->handle_ring();
    else
      calendar_->handle(timetable.pop());
  }
  return true;
}

// A limit in seconds is converted anew at every step, because holds and pauses change the clock's
// rate.
double VirtualEvents::time_limit() {
  const Budget& budget = state_.spec.budget;
  return std::min(budget.normalised_time, state_.workers.time_at(budget.seconds));
}

void VirtualEvents::take_sample(double time) {
  Player& player = state_.player;
  Totals& totals = state_.totals;
  player.pool().wait_light();
  if (player.diverged()) return;
  totals.position.bytes += player.take_extra_bytes();
  totals.position.normalised_time = time;
  totals.position.seconds = state_.timetable.seconds();
  RunShell& shell = state_.shell;
  shell.sampler.take(
      shell.measure(shell.mixing_time(state_.timetable.time()), calendar_->in_flight()), totals,
      state_.notes);
  state_.run.recorder.progress(totals.position);
  state_.notes.clear();
  state_.workers.forget_norms();
}

// Time stands still: as in synchronous methods, nothing after the last round is charged.
void VirtualEvents::drain() {
  Timetable& timetable = state_.timetable;
  state_.ended = true;
  state_.totals.position.normalised_time = timetable.time();
  state_.workers.clock().stop(timetable.seconds(), timetable.time());
  calendar_->end();
  while (!timetable.empty())
    if (const Occurrence occurrence = timetable.pop(); goes_on_after_end(occurrence.kind))
      calendar_->handle(occurrence);
  state_.totals.position.seconds = timetable.seconds();
}

}  // namespace acid
