#include "engine/drivers/virtual/events.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

// Events this close in normalised time are simultaneous; a sample comes after them. Relative,
// because event times are sums of many durations.
double simultaneous(double time) { return 1e-9 * std::max(1.0, time); }

// What rounding alone puts beyond a limit is not late.
double late(double limit) { return limit * (1 + 1e-9); }

}  // namespace

EventState::EventState(const Run& its_run, const VirtualOptions& its_options)
    : run(its_run),
      spec(its_run.spec),
      options(its_options),
      workers(run, options, timetable, player),
      player(run, options.threads, run.spec.keep_events,
             options.gradient_clock != GradientClock::none),
      sampler(run.spec, run.objective, run.recorder,
              [this](int count, const auto& body) { player.pool().parallel_for(count, body); }) {}

void EventState::count_gradient() {
  ++totals.position.gradients;
  totals.position.normalised_time = timetable.time();
  totals.position.seconds = timetable.seconds();
  totals.learning_rate = spec.learning_rate(totals.position);
  if (totals.position.gradients % 16 == 0) player.tell_progress(totals.position);
}

void EventState::commit(Commit what) {
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
  if (run.checkpointing.resume == nullptr) {
    calendar_->begin();
    return;
  }
  const CheckpointFile& file = *run.checkpointing.resume;
  load_state(file, calendar_->layout(), *calendar_);
  state_.player.ensemble().restore(file);
  calendar_->resume(file);
}

void VirtualEvents::save_cut() {
  state_.player.pool().wait_light();
  if (state_.player.diverged()) return;
  Ensemble& ensemble = state_.player.ensemble();
  state_.player.log().mark(EventKind::checkpoint, state_.mixing_time(), ensemble);
  state_.player.log().flush();
  std::vector<StateVectors> vectors = ensemble.vectors();
  calendar_->add_vectors(vectors);
  state_.run.checkpointing.save(state_.timetable.steps(), state_.totals.position,
                                std::move(vectors), calendar_->layout(), *calendar_);
}

Outcome VirtualEvents::execute() {
  Checkpoints* const checkpoints = state_.run.checkpointing.checkpoints;
  Timetable& timetable = state_.timetable;
  Player& player = state_.player;
  Position& position = state_.totals.position;
  bool over = false;
  while (!over && !state_.ended && !state_.run.stop.stop_requested() && !player.diverged()) {
    if (checkpoints != nullptr && checkpoints->due(timetable.steps(), position)) save_cut();
    over = !step();
    timetable.count_step();
  }
  player.pool().wait_light();  // a commit that has not run yet may be the one that diverges
  if (!over && !state_.ended && !player.diverged()) {
    if (checkpoints != nullptr && !checkpoints->has(timetable.steps())) save_cut();
    return ended_early(Ending::stopped, "", position);
  }
  player.pool().wait_all();
  if (!diverged()) drain();
  player.pool().wait_all();
  position.bytes += player.take_extra_bytes();
  player.log().flush();
  if (diverged()) return acid::diverged(state_.sampler, state_.notes, position);
  return finish();
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
  const double sample_seconds = state_.sampler.sample_times().next_seconds();
  const bool by_clock = sample_seconds < kNever;
  const double sample =
      by_clock ? workers.time_at(sample_seconds) : state_.sampler.sample_times().next();
  if (due <= std::min({next, sample, limit})) {
    timetable.advance_to(due, workers.clock().seconds_at(due));
    calendar_->handle_due();
  } else if (by_clock ? sample_seconds < std::min(next_seconds, budget.seconds) && sample <= limit
                      : sample < std::min(next, limit) - simultaneous(sample)) {
    timetable.advance_to(sample, by_clock ? sample_seconds : workers.clock().seconds_at(sample));
    take_sample(by_clock ? timetable.time() : sample);
    return !state_.sampler.diverged() && !state_.sampler.target_reached();
  } else if (next > limit + simultaneous(limit) || next_seconds > late(budget.seconds)) {
    // Seconds are asked too: normalised time stands still while no worker computes. And to
    // normalised time and back would miss a limit in seconds by a rounding.
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

// A limit in seconds is looked up anew at every step, because holds and pauses change the clock's
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
  const bool with_workers = state_.sampler.sample_times().evaluates_workers();
  state_.sampler.take(player.log().measure(state_.mixing_time(), player.ensemble(), with_workers,
                                           calendar_->in_flight()),
                      totals, state_.notes);
  state_.run.recorder.progress(totals.position);
  state_.notes.clear();
  state_.workers.forget_norms();
}

// Time stands still: no synchronous method is charged for what would follow its last round, either.
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

Outcome VirtualEvents::finish() {
  state_.workers.end_holds(state_.totals.idle_seconds);
  Outcome outcome = conclude(state_.player.ensemble(), state_.sampler, state_.mixing_time(),
                             state_.totals, state_.notes);
  state_.workers.tell_times(outcome);
  calendar_->tell(outcome);
  return outcome;
}

}  // namespace acid
