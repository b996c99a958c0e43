#include "engine/drivers/virtual/meetings.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

// Events this close in normalised time are simultaneous; a sample comes after them. Relative,
// because event times are sums of many durations.
double simultaneous(double time) { return 1e-9 * std::max(1.0, time); }

// Of commits whose notes are kept apart.
constexpr std::size_t kMostNotes = 1 << 16;
constexpr std::int64_t kExchangesPerReport = 4096;  // of progress, where no gradients tell it

}  // namespace

VirtualAsync::VirtualAsync(const Run& run, const VirtualOptions& options)
    : run_(run),
      spec_(run.spec),
      options_(options),
      bytes_per_exchange_(run.spec.bytes_per_exchange(run.objective.dimension())),
      workers_(run, options, timetable_, player_),
      exchanges_(run, options, timetable_, workers_, player_),
      player_(run, options.threads, run.spec.keep_events,
              options.gradient_clock != GradientClock::none),
      sampler_(run.spec, run.objective, run.recorder,
               [this](int count, const auto& body) { player_.pool().parallel_for(count, body); }) {
  ACID_ASSERT(!consensus_only() || run.spec.budget.normalised_time < kNever,
              "exchanges alone without an end");
  ACID_ASSERT(
      options.gradient_clock == GradientClock::duration || options.compute.slow_factors.empty(),
      "{} speed factors without durations", options.compute.slow_factors.size());
  if (options.gradient_clock == GradientClock::poisson)
    rings_.emplace(run.spec.workers, options.compute.mean_seconds(0), run.spec.seeds);
  if (run.checkpointing.resume != nullptr)
    resume(*run.checkpointing.resume);
  else
    workers_.begin();
}

template <class Archive>
void VirtualAsync::persist(Archive& archive) {
  archive(player_, timetable_, totals_, workers_.clock(), exchanges_, notes_, exchanges_.edges(),
          holds_, sampler_, sampler_.gathered());
  if (rings_) archive(*rings_);
  for (int w = 0; w < spec_.workers; ++w) archive(workers_.state(w));
}

void VirtualAsync::resume(const CheckpointFile& file) {
  load_state(file, kLayout, *this);
  player_.ensemble().restore(file);
  exchanges_.restore(file);
  for (int w = 0; w < spec_.workers; ++w)
    if (options_.gradient_clock == GradientClock::duration && !workers_.state(w).held)
      workers_.compute(w);
}

void VirtualAsync::save_cut() {
  player_.pool().wait_light();
  if (player_.diverged()) return;
  Ensemble& ensemble = player_.ensemble();
  player_.log().mark(EventKind::checkpoint, std::max(timetable_.time(), ensemble.latest_event()),
                     ensemble);
  player_.log().flush();
  std::vector<StateVectors> vectors = ensemble.vectors();
  exchanges_.add_offers(vectors);
  run_.checkpointing.save(timetable_.steps(), totals_.position, std::move(vectors), kLayout, *this);
}

Outcome VirtualAsync::execute() {
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  bool over = false;
  while (!over && !ended_ && !run_.stop.stop_requested() && !player_.diverged()) {
    if (checkpoints != nullptr && checkpoints->due(timetable_.steps(), totals_.position))
      save_cut();
    over = !step();
    timetable_.count_step();
  }
  player_.pool().wait_light();  // a commit that has not run yet may be the one that diverges
  const bool stopped = !over && !ended_ && !player_.diverged();
  if (stopped) {
    if (checkpoints != nullptr && !checkpoints->has(timetable_.steps())) save_cut();
    return ended_early(Ending::stopped, "", totals_.position);
  }
  player_.pool().wait_all();
  if (sampler_.diverged() || player_.diverged()) {
    totals_.position.bytes += player_.take_extra_bytes();
    player_.log().flush();
    return diverged(sampler_, notes_, totals_.position);
  }
  drain();
  player_.pool().wait_all();
  totals_.position.bytes += player_.take_extra_bytes();
  return finish();
}

bool VirtualAsync::step() {
  const double limit = time_limit();
  const double next = workers_.time_at(next_seconds());
  const double edge = exchanges_.next_due();
  const double sample_seconds = sampler_.sample_times().next_seconds();
  const bool by_clock = sample_seconds < kNever;
  const double sample =
      by_clock ? workers_.time_at(sample_seconds) : sampler_.sample_times().next();
  if (edge <= std::min({next, sample, limit})) {
    timetable_.advance_to(edge, workers_.clock().seconds_at(edge));
    handle_due_edge();
  } else if (by_clock ? sample_seconds < std::min(next_seconds(), spec_.budget.seconds) &&
                            sample <= limit
                      : sample < std::min(next, limit) - simultaneous(sample)) {
    timetable_.advance_to(sample, by_clock ? sample_seconds : workers_.clock().seconds_at(sample));
    take_sample(by_clock ? timetable_.time() : sample);
    return !sampler_.diverged() && !sampler_.target_reached();
  } else if (next > limit + simultaneous(limit)) {
    // To normalised time and back would miss a limit in seconds by a rounding.
    const bool by_seconds = limit < spec_.budget.normalised_time;
    timetable_.advance_to(limit,
                          by_seconds ? spec_.budget.seconds : workers_.clock().seconds_at(limit));
    return false;
  } else {
    ACID_ASSERT(next < kNever, "nothing can happen at {} s", timetable_.seconds());
    handle_next();
  }
  return true;
}

double VirtualAsync::next_seconds() const {
  const double occurrence = timetable_.next_seconds();
  return rings_ ? std::min(rings_->peek().seconds, occurrence) : occurrence;
}

void VirtualAsync::handle_next() {
  if (rings_ && rings_->peek().seconds == next_seconds()) return gradient_rings();
  const Occurrence occurrence = timetable_.pop();
  timetable_.advance_to(workers_.time_at(occurrence.seconds), occurrence.seconds);
  handle(occurrence);
}

// Both limits as a normalised time; what happens right at it still counts. A limit in seconds is
// looked up anew at every step, because holds and pauses change the clock's rate.
double VirtualAsync::time_limit() {
  const Budget& budget = spec_.budget;
  if (budget.seconds == kNever) return budget.normalised_time;
  return std::min(budget.normalised_time, workers_.time_at(budget.seconds));
}

void VirtualAsync::handle(const Occurrence& occurrence) {
  const int w = occurrence.worker;
  switch (occurrence.kind) {
    case Occurrence::Kind::gradient_done:
      return gradient_done(w);
    case Occurrence::Kind::pause_begins:
      return workers_.pause(w, true);
    case Occurrence::Kind::pause_ends:
      workers_.pause(w, false);
      return release_if_caught_up(w);
    case Occurrence::Kind::message_arrives:
    case Occurrence::Kind::reply_arrives:
      break;
    case Occurrence::Kind::exchange_done: {
      const DueEdge edge = exchanges_.matchmaker().in_flight(w);
      exchanges_.apply(edge);
      exchange_done(edge);
      start_ready_exchanges();
    }
  }
}

void VirtualAsync::gradient_done(int w) {
  const bool behind = is_behind(w);
  workers_.end_span(w, SpanKind::compute, workers_.state(w).computing_since);
  commit(w, !behind);
  if (budget_spent()) return;
  if (behind) return hold(w);
  workers_.compute_next(w);
}

// Under the Poisson clock a gradient is over as soon as it has begun. Held and paused workers do
// not ring.
void VirtualAsync::gradient_rings() {
  const GradientRings::Ring ring = rings_->pop();
  if (exchanges_.fetches_ahead()) fetch_gradients();
  timetable_.advance_to(workers_.time_at(ring.seconds), ring.seconds);
  const int w = ring.worker;
  VirtualWorkers::State& s = workers_.state(w);
  if (s.held || s.paused) return;
  workers_.end_span(w, SpanKind::compute, s.computing_since);
  s.computing_since = timetable_.seconds();
  if (is_behind(w)) return hold(w);
  player_.begin(w, timetable_.time());
  workers_.compute(w);
  commit(w, false);
  budget_spent();
}

bool VirtualAsync::is_behind(int w) const {
  return !exchanges_.instant() &&
         exchanges_.matchmaker().backlog(w) > workers_.state(w).backlog_limit;
}

void VirtualAsync::commit(int w, bool begins_next) {
  Position& position = totals_.position;
  ++position.gradients;
  position.normalised_time = timetable_.time();
  position.seconds = timetable_.seconds();
  totals_.learning_rate = spec_.learning_rate(position);
  if (notes_.size() >= kMostNotes) gather_notes();
  VirtualWorkers::State& s = workers_.state(w);
  player_.commit({.worker = w,
                  .time = position.normalised_time,
                  .position = position,
                  .learning_rate = totals_.learning_rate,
                  .begins_next = begins_next,
                  .is_first = !std::exchange(s.measured, true)},
                 s.loss, notes_.emplace_back());
  if (position.gradients % 16 == 0) player_.tell_progress(position);
}

// So many commits between two samples need not be kept one by one.
void VirtualAsync::gather_notes() {
  player_.pool().wait_light();
  if (player_.diverged()) return;
  sampler_.gather(notes_);
  notes_.clear();
}

void VirtualAsync::hold(int w) {
  ++holds_;
  workers_.hold(w);
}

void VirtualAsync::release_if_caught_up(int w) {
  const VirtualWorkers::State& s = workers_.state(w);
  if (ended_ || !s.held || s.paused || exchanges_.matchmaker().backlog(w) > s.backlog_limit) return;
  totals_.idle_seconds += workers_.release(w);
}

void VirtualAsync::handle_due_edge() {
  const DueEdge edge = exchanges_.pop_due();
  if (!exchanges_.instant()) return start_ready_exchanges();
  totals_.position.bytes += bytes_per_exchange_;
  exchanges_.exchange_at_once(edge);
  count_exchange();
}

void VirtualAsync::start_ready_exchanges() {
  while (const auto edge = exchanges_.take()) {
    totals_.position.bytes += bytes_per_exchange_;
    if (!exchanges_.begin(*edge)) exchange_done(*edge);
  }
}

void VirtualAsync::exchange_done(const DueEdge& edge) {
  exchanges_.finish(edge);
  count_exchange();
  release_if_caught_up(edge.i);
  release_if_caught_up(edge.j);
}

void VirtualAsync::count_exchange() {
  ++totals_.exchanges;
  if (!consensus_only()) return;  // commits tell how far the run is
  totals_.position.normalised_time = timetable_.time();
  totals_.position.seconds = timetable_.seconds();
  if (totals_.exchanges % kExchangesPerReport == 0) player_.tell_progress(totals_.position);
  budget_spent();
}

bool VirtualAsync::budget_spent() {
  const Budget& budget = spec_.budget;
  if (budget.bytes < kNever) totals_.position.bytes += player_.take_extra_bytes();
  const bool counted = budget.normalised_time == kNever;
  ended_ = ended_ || (counted && totals_.position.gradients >= budget.gradients) ||
           static_cast<double>(totals_.position.bytes) >= budget.bytes;
  return ended_;
}

void VirtualAsync::take_sample(double time) {
  player_.pool().wait_light();
  if (player_.diverged()) return;
  totals_.position.bytes += player_.take_extra_bytes();
  totals_.position.normalised_time = time;
  totals_.position.seconds = timetable_.seconds();
  const Ensemble& ensemble = player_.ensemble();
  const double t = std::max(timetable_.time(), ensemble.latest_event());
  const bool with_workers = sampler_.sample_times().evaluates_workers();
  sampler_.take(player_.log().measure(t, ensemble, with_workers, exchanges_.in_flight()), totals_,
                notes_);
  run_.recorder.progress(totals_.position);
  notes_.clear();
  workers_.forget_norms();
}

// After the last gradient: every edge that is due is executed, in its order. Time stands still: no
// synchronous method is charged for what would follow its last round, either.
void VirtualAsync::drain() {
  ended_ = true;
  waiting_at_end_ = exchanges_.matchmaker().waiting();
  totals_.position.normalised_time = timetable_.time();
  workers_.clock().stop(timetable_.seconds(), timetable_.time());
  while (!timetable_.empty()) {
    const Occurrence occurrence = timetable_.pop();
    if (occurrence.kind != Occurrence::Kind::exchange_done) continue;
    handle(occurrence);
  }
  ACID_ASSERT(exchanges_.matchmaker().idle(), "{} exchanges left",
              exchanges_.matchmaker().waiting());
  totals_.position.seconds = timetable_.seconds();
}

Outcome VirtualAsync::finish() {
  player_.log().flush();
  workers_.end_holds(totals_.idle_seconds);
  Ensemble& ensemble = player_.ensemble();
  Outcome outcome = conclude(ensemble, sampler_,
                             std::max(timetable_.time(), ensemble.latest_event()), totals_, notes_);
  workers_.tell_times(outcome);
  outcome.edges = exchanges_.edges().list();
  outcome.exchanges_drawn = exchanges_.matchmaker().due();
  outcome.exchanges_waiting = waiting_at_end_;
  outcome.holds = holds_;
  return outcome;
}

}  // namespace acid
