#include "engine/drivers/virtual/meetings.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/run/commit.hpp"

namespace acid {
namespace {

// Events this close in normalised time are simultaneous; a sample comes after them. Relative,
// because event times are sums of many durations.
double simultaneous(double time) { return 1e-9 * std::max(1.0, time); }

bool takes_time(const NetworkModel& network, double bytes) {
  if (network.link.seconds(bytes) > 0) return true;
  for (const auto& [edge, cost] : network.edges)
    if (cost.seconds(bytes) > 0) return true;
  return false;
}

// Of commits whose notes are kept apart.
constexpr std::size_t kMostNotes = 1 << 16;

}  // namespace

VirtualAsync::VirtualAsync(const Run& run, const VirtualOptions& options)
    : run_(run),
      spec_(run.spec),
      options_(options),
      ensemble_(run.spec, run.objective, options.gradient_clock != GradientClock::none),
      log_(run.spec.workers, run.spec.keep_events, run.recorder),
      instant_(!takes_time(options.network, ensemble_.vector_bytes())),
      fetches_ahead_(options.threads == 0 && ensemble_.vector_bytes() <= kLongestFetched),
      states_(static_cast<std::size_t>(run.spec.workers)),
      schedule_(*run.spec.topology, run.spec.method.rate, run.spec.seeds),
      matchmaker_(run.spec.workers),
      clock_(run.spec.workers, options.compute.gradient_seconds),
      timeline_(run.spec.workers),
      pool_(2 * run.spec.workers, options.threads),
      sampler_(run.spec, run.objective, run.recorder,
               [this](int count, const auto& body) { pool_.parallel_for(count, body); }) {
  ACID_ASSERT(!consensus_only() || run.spec.budget.normalised_time < kNever,
              "exchanges alone without an end");
  ACID_ASSERT(
      options.gradient_clock == GradientClock::duration || options.compute.slow_factors.empty(),
      "{} speed factors without durations", options.compute.slow_factors.size());
  if (!instant_) {
    constexpr std::size_t kLine = 64 / sizeof(float);
    offer_stride_ = (ensemble_.dimension() + kLine - 1) / kLine * kLine;
    offers_ = Arena<float>(states_.size() * offer_stride_, *run.spec.backend);
  }
  if (poisson()) rings_.emplace(run.spec.workers, options.compute.mean_seconds(0), run.spec.seeds);
  for (int w = 0; w < run.spec.workers; ++w) {
    state(w).duration = options.compute.mean_seconds(w) * with_optimizer();
    state(w).backlog_limit = run.spec.backlog_limit(w);
  }
  if (run.checkpointing.resume != nullptr)
    resume(*run.checkpointing.resume);
  else
    begin();
}

void VirtualAsync::begin() {
  for (const Pause& p : options_.compute.pauses) {
    push({.seconds = p.at_seconds, .worker = p.worker, .kind = Occurrence::Kind::pause_begins});
    push({.seconds = p.at_seconds + p.for_seconds,
          .worker = p.worker,
          .kind = Occurrence::Kind::pause_ends});
  }
  for (int w = 0; w < spec_.workers; ++w) begin_waiting(w);
}

void VirtualAsync::push(Occurrence occurrence) {
  occurrence.sequence = sequence_++;
  occurrences_.push(occurrence);
}

Outcome VirtualAsync::execute() {
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  bool over = false;
  while (!over && !ended_ && !run_.stop.stop_requested() &&
         !not_finite_.load(std::memory_order_relaxed)) {
    if (checkpoints != nullptr && checkpoints->due(steps_, totals_.position)) save_cut();
    over = !step();
    ++steps_;
  }
  pool_.wait_light();  // a commit that has not run yet may be the one that diverges
  const bool stopped = !over && !ended_ && !not_finite_.load(std::memory_order_relaxed);
  if (stopped) {
    if (checkpoints != nullptr && !checkpoints->has(steps_)) save_cut();
    return ended_early(Ending::stopped, "", totals_.position);
  }
  pool_.wait_all();
  if (sampler_.diverged() || not_finite_.load(std::memory_order_relaxed)) {
    log_.flush();
    return diverged(sampler_, notes_, totals_.position);
  }
  drain();
  pool_.wait_all();
  return finish();
}

bool VirtualAsync::step() {
  const double limit = time_limit();
  const double next = time_at(next_seconds());
  const double edge = schedule_.peek().due;
  const double sample_seconds = sampler_.sample_times().next_seconds();
  const bool by_clock = sample_seconds < kNever;
  const double sample = by_clock ? time_at(sample_seconds) : sampler_.sample_times().next();
  if (edge <= std::min({next, sample, limit})) {
    advance_to(edge, clock_.seconds_at(edge));
    handle_due_edge();
  } else if (by_clock ? sample_seconds < std::min(next_seconds(), spec_.budget.seconds) &&
                            sample <= limit
                      : sample < std::min(next, limit) - simultaneous(sample)) {
    advance_to(sample, by_clock ? sample_seconds : clock_.seconds_at(sample));
    take_sample(by_clock ? time_ : sample);
    return !sampler_.diverged() && !sampler_.target_reached();
  } else if (next > limit + simultaneous(limit)) {
    // To normalised time and back would miss a limit in seconds by a rounding.
    const bool by_seconds = limit < spec_.budget.normalised_time;
    advance_to(limit, by_seconds ? spec_.budget.seconds : clock_.seconds_at(limit));
    return false;
  } else {
    ACID_ASSERT(next < kNever, "nothing can happen at {} s", seconds_);
    handle_next();
  }
  return true;
}

double VirtualAsync::next_seconds() const {
  const double occurrence = occurrences_.empty() ? kNever : occurrences_.top().seconds;
  return rings_ ? std::min(rings_->peek().seconds, occurrence) : occurrence;
}

void VirtualAsync::handle_next() {
  if (rings_ && rings_->peek().seconds == next_seconds()) return gradient_rings();
  const Occurrence occurrence = occurrences_.top();
  occurrences_.pop();
  advance_to(time_at(occurrence.seconds), occurrence.seconds);
  handle(occurrence);
}

double VirtualAsync::time_at(double seconds) const {
  return seconds == kNever ? kNever : clock_.time_at(seconds);
}

// Both limits as a normalised time; what happens right at it still counts. A limit in seconds is
// looked up anew at every step, because holds and pauses change the clock's rate.
double VirtualAsync::time_limit() const {
  const Budget& budget = spec_.budget;
  if (budget.seconds == kNever) return budget.normalised_time;
  return std::min(budget.normalised_time, clock_.time_at(budget.seconds));
}

// Rounding never turns time back.
void VirtualAsync::advance_to(double time, double seconds) {
  time_ = std::max(time_, time);
  seconds_ = std::max(seconds_, seconds);
}

void VirtualAsync::handle(const Occurrence& occurrence) {
  switch (occurrence.kind) {
    case Occurrence::Kind::gradient_done:
      return gradient_done(occurrence.worker);
    case Occurrence::Kind::pause_begins:
      return pause(occurrence.worker, true);
    case Occurrence::Kind::pause_ends:
      return pause(occurrence.worker, false);
    case Occurrence::Kind::exchange_done: {
      const DueEdge edge = matchmaker_.in_flight(occurrence.worker);
      submit_apply(edge);
      exchange_done(edge);
      start_ready_exchanges();
    }
  }
}

void VirtualAsync::gradient_done(int w) {
  const bool behind = is_behind(w);
  end_span(w, SpanKind::compute, state(w).computing_since);
  submit_commit(w, !behind);
  if (budget_spent()) return;
  if (behind) return hold(w);
  submit_compute(w);
  const double before = state(w).duration;
  schedule_gradient(w);
  if (!state(w).paused) clock_.follows(seconds_, before, state(w).duration);
}

// Under the Poisson clock a gradient is over as soon as it has begun. Held and paused workers do
// not ring.
void VirtualAsync::gradient_rings() {
  const GradientRings::Ring ring = rings_->pop();
  if (fetches_ahead_) fetch_gradients();
  advance_to(time_at(ring.seconds), ring.seconds);
  const int w = ring.worker;
  WorkerState& s = state(w);
  if (s.held || s.paused) return;
  end_span(w, SpanKind::compute, s.computing_since);
  s.computing_since = seconds_;
  if (is_behind(w)) return hold(w);
  submit_begin(w);
  submit_compute(w);
  submit_commit(w, false);
  budget_spent();
}

bool VirtualAsync::is_behind(int w) const {
  return !instant_ && matchmaker_.backlog(w) > states_[static_cast<std::size_t>(w)].backlog_limit;
}

// Worker w begins to compute after having waited (or at the very start).
void VirtualAsync::begin_waiting(int w) {
  state(w).computing_since = seconds_;
  if (options_.gradient_clock == GradientClock::duration) {
    submit_begin(w);
    submit_compute(w);
    schedule_gradient(w);
  }
  clock_.begins(seconds_, state(w).duration);
}

void VirtualAsync::schedule_gradient(int w) {
  WorkerState& s = state(w);
  s.duration = options_.compute.draw_seconds(w, s.begun, spec_.seeds) * with_optimizer();
  ++s.begun;
  s.computing_since = seconds_;
  push({.seconds = options_.compute.end_seconds(w, seconds_, s.duration), .worker = w});
}

void VirtualAsync::end_span(int w, SpanKind kind, double since) {
  // Asked first, because with many workers most calls would be for nothing.
  if (w < Timeline::kMostWorkers && since != kNever) timeline_.add(w, kind, since, seconds_);
}

void VirtualAsync::submit_begin(int w) {
  pool_.submit(w, spec_.workers + w, ChainPool::Weight::light, [this, w, t = time_](int) {
    ensemble_.worker(w).begin_gradient(t);
    log_.add(w, EventKind::begin_gradient, t, ensemble_.worker(w));
  });
}

void VirtualAsync::submit_compute(int w) {
  pool_.submit(
      spec_.workers + w, ChainPool::kNoChain, ChainPool::Weight::heavy, [this, w](int lane) {
        Worker& worker = ensemble_.worker(w);
        state(w).loss = run_.objective.gradient(lane, w, worker.gradients(), worker.snapshot(),
                                                worker.gradient_buffers(), ensemble_.gradient(w));
      });
}

void VirtualAsync::submit_commit(int w, bool begin_next) {
  Position& position = totals_.position;
  ++position.gradients;
  position.normalised_time = time_;
  position.seconds = seconds_;
  totals_.learning_rate = spec_.learning_rate(position);
  if (notes_.size() >= kMostNotes) gather_notes();
  const bool first = !std::exchange(state(w).measured, true);
  GradientRecord& note = notes_.emplace_back();
  pool_.submit(
      w, spec_.workers + w, ChainPool::Weight::light,
      [this, w, begin_next, first, &note, here = position, rate = totals_.learning_rate](int) {
        const Commit what{.worker = w,
                          .time = here.normalised_time,
                          .position = here,
                          .learning_rate = rate,
                          .loss = state(w).loss,
                          .gradient = ensemble_.gradient(w),
                          .direction = ensemble_.gradient(w),
                          .begins_next = begin_next,
                          .is_first = first};
        if (!commit(what, ensemble_.worker(w), log_, note))
          not_finite_.store(true, std::memory_order_relaxed);
      });
  if (position.gradients % 16 == 0) run_.recorder.progress(position);
}

// So many commits between two samples need not be kept one by one.
void VirtualAsync::gather_notes() {
  pool_.wait_light();
  if (not_finite_.load(std::memory_order_relaxed)) return;
  sampler_.gather(notes_);
  notes_.clear();
}

void VirtualAsync::hold(int w) {
  WorkerState& s = state(w);
  s.held = true;
  s.held_since = seconds_;
  ++holds_;
  if (!s.paused) clock_.ends(seconds_, s.duration);
}

void VirtualAsync::release_if_caught_up(int w) {
  WorkerState& s = state(w);
  if (ended_ || !s.held || s.paused || matchmaker_.backlog(w) > s.backlog_limit) return;
  s.held = false;
  s.idle_seconds += seconds_ - s.held_since;
  totals_.idle_seconds += seconds_ - s.held_since;
  end_span(w, SpanKind::wait, s.held_since);
  begin_waiting(w);
}

// A paused worker neither computes nor advances the clock; the end of its gradient was already put
// off when it began.
void VirtualAsync::pause(int w, bool begins) {
  WorkerState& s = state(w);
  s.paused = begins;
  if (s.held) {
    if (!begins) release_if_caught_up(w);
  } else if (begins) {
    clock_.ends(seconds_, s.duration);
  } else {
    clock_.goes_on(seconds_, s.duration);
  }
}

bool VirtualAsync::budget_spent() {
  const Budget& budget = spec_.budget;
  const bool counted = budget.normalised_time == kNever;
  ended_ = ended_ || (counted && totals_.position.gradients >= budget.gradients) ||
           static_cast<double>(totals_.position.bytes) >= budget.bytes;
  return ended_;
}

void VirtualAsync::take_sample(double time) {
  pool_.wait_light();
  if (not_finite_.load(std::memory_order_relaxed)) return;
  totals_.position.normalised_time = time;
  totals_.position.seconds = seconds_;
  const double t = std::max(time_, ensemble_.latest_event());
  const bool with_workers = sampler_.sample_times().evaluates_workers();
  sampler_.take(log_.measure(t, ensemble_, with_workers, exchanges_in_flight()), totals_, notes_);
  run_.recorder.progress(totals_.position);
  notes_.clear();
  for (WorkerState& s : states_) s.measured = false;
}

// After the last gradient: every edge that is due is executed, in its order. Time stands still: no
// synchronous method is charged for what would follow its last round, either.
void VirtualAsync::drain() {
  ended_ = true;
  waiting_at_end_ = matchmaker_.waiting();
  totals_.position.normalised_time = time_;
  clock_.stop(seconds_, time_);
  while (!occurrences_.empty()) {
    const Occurrence occurrence = occurrences_.top();
    occurrences_.pop();
    if (occurrence.kind != Occurrence::Kind::exchange_done) continue;
    handle(occurrence);
  }
  ACID_ASSERT(matchmaker_.idle(), "{} exchanges left", matchmaker_.waiting());
  totals_.position.seconds = seconds_;
}

Outcome VirtualAsync::finish() {
  log_.flush();
  for (WorkerState& s : states_)
    if (s.held) {
      s.idle_seconds += seconds_ - s.held_since;
      totals_.idle_seconds += seconds_ - s.held_since;
    }
  Outcome outcome =
      conclude(ensemble_, sampler_, std::max(time_, ensemble_.latest_event()), totals_, notes_);
  for (const WorkerState& s : states_) outcome.worker_idle_seconds.push_back(s.idle_seconds);
  outcome.edges = edges_.list();
  outcome.exchanges_drawn = matchmaker_.due();
  outcome.exchanges_waiting = waiting_at_end_;
  outcome.holds = holds_;
  outcome.worker_spans = timeline_.take();
  return outcome;
}

}  // namespace acid
