#include "engine/drivers/virtual_async.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"

namespace acid {
namespace {

// Events this close in normalised time are simultaneous; a sample comes after them. Relative,
// because event times are sums of many durations.
double simultaneous(double time) { return 1e-9 * std::max(1.0, time); }

bool has_durations(const NetworkModel& network, double bytes) {
  if (network.link.seconds(bytes) > 0) return true;
  for (const auto& [edge, cost] : network.edges)
    if (cost.seconds(bytes) > 0) return true;
  return false;
}

}  // namespace

VirtualAsync::VirtualAsync(const RunSpec& spec, const VirtualOptions& options, Objective& objective,
                           Recorder& recorder, const Continuity& continuity)
    : spec_(spec),
      options_(options),
      objective_(objective),
      recorder_(recorder),
      continuity_(continuity),
      ensemble_(spec, objective),
      log_(spec.workers, spec.keep_events, recorder),
      states_(static_cast<std::size_t>(spec.workers)),
      schedule_(*spec.topology, spec.method.rate, spec.seeds),
      matchmaker_(spec.workers),
      clock_(spec.workers),
      timeline_(spec.workers),
      pool_(2 * spec.workers, options.threads),
      sampler_(spec, objective, recorder,
               [this](int count, const auto& body) { pool_.parallel_for(count, body); }) {
  if (has_durations(options.network, ensemble_.vector_bytes()))
    for (int w = 0; w < spec.workers; ++w) offers_.emplace_back(ensemble_.dimension());
  for (int w = 0; w < spec.workers; ++w) {
    state(w).mean_seconds = options.compute.mean_seconds(w);
    state(w).backlog_limit = spec.backlog_limit(w);
  }
  if (continuity.resume != nullptr)
    resume(*continuity.resume);
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

Outcome VirtualAsync::run(std::stop_token stop) {
  Checkpoints* const checkpoints = continuity_.checkpoints;
  bool over = false;
  while (!over && !ended_ && !stop.stop_requested() &&
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
  ACID_ASSERT(!occurrences_.empty(), "nothing can happen at {} s", seconds_);
  const double limit = time_limit();
  const double next = clock_.time_at(occurrences_.top().seconds);
  const double edge = schedule_.peek().due, sample = sampler_.next();
  if (edge <= std::min({next, sample, limit})) {
    advance_to(edge, clock_.seconds_at(edge));
    handle_due_edge();
  } else if (sample < std::min(next, limit) - simultaneous(sample)) {
    advance_to(sample, clock_.seconds_at(sample));
    take_sample(sample);
    return !sampler_.diverged() && !sampler_.target_reached();
  } else if (next > limit + simultaneous(limit)) {
    advance_to(limit, clock_.seconds_at(limit));
    return false;
  } else {
    const Occurrence occurrence = occurrences_.top();
    occurrences_.pop();
    advance_to(next, occurrence.seconds);
    handle(occurrence);
  }
  return true;
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
    case Occurrence::Kind::exchange_done:
      submit_apply(occurrence.edge);
      exchange_done(occurrence.edge);
      start_ready_exchanges();
  }
}

void VirtualAsync::handle_due_edge() {
  matchmaker_.add(schedule_.pop());
  start_ready_exchanges();
}

void VirtualAsync::start_ready_exchanges() {
  const double bytes = ensemble_.vector_bytes();
  while (const auto edge = matchmaker_.take()) {
    totals_.position.bytes += static_cast<std::int64_t>(2 * bytes);
    const double duration = options_.network.between(edge->i, edge->j).seconds(bytes);
    state(edge->i).exchanging_since = state(edge->j).exchanging_since = seconds_;
    if (duration == 0) {
      submit_exchange(*edge);
      exchange_done(*edge);
    } else {
      submit_offer(*edge);
      push({.seconds = seconds_ + duration,
            .worker = edge->i,
            .kind = Occurrence::Kind::exchange_done,
            .edge = *edge});
    }
  }
}

void VirtualAsync::submit_exchange(const DueEdge& edge) {
  pool_.submit(edge.i, edge.j, ChainPool::Weight::light, [this, edge, t = time_](int) {
    Worker& i = ensemble_.worker(edge.i);
    Worker& j = ensemble_.worker(edge.j);
    Worker::exchange(i, j, t);
    log_.add(edge.i, EventKind::exchange, t, i, edge.number);
    log_.add(edge.j, EventKind::exchange, t, j, edge.number);
  });
}

void VirtualAsync::submit_offer(const DueEdge& edge) {
  WorkerState& i = state(edge.i);
  WorkerState& j = state(edge.j);
  i.partner = edge.j;
  j.partner = edge.i;
  i.offered = j.offered = time_;
  pool_.submit(edge.i, edge.j, ChainPool::Weight::light, [this, edge, t = time_](int) {
    for (const int w : {edge.i, edge.j}) {
      ensemble_.worker(w).offer(t, offer(w));
      log_.add(w, EventKind::offer, t, ensemble_.worker(w), edge.number);
    }
  });
}

void VirtualAsync::submit_apply(const DueEdge& edge) {
  pool_.submit(edge.i, edge.j, ChainPool::Weight::light,
               [this, edge, t = time_, offered = state(edge.i).offered](int) {
                 ensemble_.worker(edge.i).apply(t, offered, offer(edge.i), offer(edge.j));
                 ensemble_.worker(edge.j).apply(t, offered, offer(edge.j), offer(edge.i));
                 for (const int w : {edge.i, edge.j})
                   log_.add(w, EventKind::apply, t, ensemble_.worker(w), edge.number);
               });
  state(edge.i).partner = state(edge.j).partner = -1;
}

void VirtualAsync::exchange_done(const DueEdge& edge) {
  matchmaker_.finish(edge);
  ++totals_.exchanges;
  edges_.add(edge.i, edge.j);
  for (const int w : {edge.i, edge.j}) end_span(w, SpanKind::exchange, state(w).exchanging_since);
  release_if_caught_up(edge.i);
  release_if_caught_up(edge.j);
}

void VirtualAsync::gradient_done(int w) {
  const bool behind = matchmaker_.backlog(w) > state(w).backlog_limit;
  end_span(w, SpanKind::compute, state(w).computing_since);
  if (options_.poisson_clock) {
    if (behind) return hold(w);
    submit_begin(w);
    submit_compute(w);
    submit_commit(w, false);
    if (!budget_spent()) schedule_gradient(w);
    return;
  }
  submit_commit(w, !behind);
  if (budget_spent()) return;
  if (behind) return hold(w);
  submit_compute(w);
  schedule_gradient(w);
}

// Worker w begins to compute after having waited (or at the very start).
void VirtualAsync::begin_waiting(int w) {
  clock_.begins(seconds_, state(w).mean_seconds);
  if (!options_.poisson_clock) {
    submit_begin(w);
    submit_compute(w);
  }
  schedule_gradient(w);
}

void VirtualAsync::schedule_gradient(int w) {
  WorkerState& s = state(w);
  double duration;
  if (options_.poisson_clock) {
    Stream stream(spec_.seeds.derived(Purpose::compute_model, static_cast<std::uint32_t>(w)),
                  static_cast<std::uint64_t>(s.begun));
    duration = s.mean_seconds * stream.exponential();
  } else {
    duration = options_.compute.draw_seconds(w, s.begun, spec_.seeds);
  }
  ++s.begun;
  s.computing_since = seconds_;
  push({.seconds = options_.compute.end_seconds(w, seconds_, duration), .worker = w});
}

void VirtualAsync::end_span(int w, SpanKind kind, double since) {
  if (since != kNever) timeline_.add(w, kind, since, seconds_);
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
        state(w).loss = objective_.gradient(lane, w, worker.gradients(), worker.snapshot(),
                                            worker.gradient_buffers(), ensemble_.gradient(w));
      });
}

void VirtualAsync::submit_commit(int w, bool begin_next) {
  Position& position = totals_.position;
  ++position.gradients;
  position.normalised_time = time_;
  position.seconds = seconds_;
  totals_.learning_rate = spec_.schedule.rate(spec_.budget.progress(position.gradients));
  const bool first = notes_.empty();
  GradientNote& note = notes_.emplace_back();
  note.worker = w;
  note.position = position;
  pool_.submit(w, spec_.workers + w, ChainPool::Weight::light,
               [this, w, begin_next, first, &note, t = time_, rate = totals_.learning_rate](int) {
                 Worker& worker = ensemble_.worker(w);
                 note.step = worker.gradients();
                 note.loss = state(w).loss;
                 if (!std::isfinite(note.loss)) not_finite_.store(true, std::memory_order_relaxed);
                 if (first) note.norm = euclidean_norm(ensemble_.gradient(w));
                 worker.commit_gradient(t, ensemble_.gradient(w), rate, begin_next);
                 note.staleness = worker.staleness();
                 log_.add(w, begin_next ? EventKind::commit_and_begin : EventKind::commit_gradient,
                          t, worker);
               });
  if (position.gradients % 16 == 0) recorder_.progress(position);
}

void VirtualAsync::hold(int w) {
  WorkerState& s = state(w);
  s.held = true;
  s.held_since = seconds_;
  ++holds_;
  if (!s.paused) clock_.ends(seconds_, s.mean_seconds);
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
    clock_.ends(seconds_, s.mean_seconds);
  } else {
    clock_.begins(seconds_, s.mean_seconds);
  }
}

bool VirtualAsync::budget_spent() {
  const Budget& budget = spec_.budget;
  const bool counted = budget.normalised_time == kNever;
  ended_ = ended_ || (counted && totals_.position.gradients >= budget.gradients) ||
           static_cast<double>(totals_.position.bytes) >= budget.bytes;
  return ended_;
}

std::vector<ExchangeInHand> VirtualAsync::exchanges_in_hand() const {
  std::vector<ExchangeInHand> list;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const int j = states_[i].partner;
    if (j > static_cast<int>(i))
      list.push_back({static_cast<int>(i), j, states_[i].offered, offers_[i].data(),
                      offers_[static_cast<std::size_t>(j)].data()});
  }
  return list;
}

void VirtualAsync::take_sample(double time) {
  pool_.wait_light();
  if (not_finite_.load(std::memory_order_relaxed)) return;
  totals_.position.normalised_time = time;
  totals_.position.seconds = seconds_;
  const double t = std::max(time_, ensemble_.latest_event());
  log_.mark(EventKind::measured, t, ensemble_);
  sampler_.take(ensemble_.mean_at(t, exchanges_in_hand()), totals_, notes_);
  recorder_.progress(totals_.position);
  notes_.clear();
}

// After the last gradient: every edge that is due is executed, in its order; time stands still.
void VirtualAsync::drain() {
  ended_ = true;
  waiting_at_end_ = matchmaker_.waiting();
  totals_.position.normalised_time = time_;
  clock_.stop(seconds_, time_);
  while (!occurrences_.empty()) {
    const Occurrence occurrence = occurrences_.top();
    occurrences_.pop();
    if (occurrence.kind != Occurrence::Kind::exchange_done) continue;
    seconds_ = occurrence.seconds;
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
