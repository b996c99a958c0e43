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
                           Recorder& recorder)
    : spec_(spec),
      options_(options),
      objective_(objective),
      recorder_(recorder),
      ensemble_(spec, objective),
      states_(static_cast<std::size_t>(spec.workers)),
      schedule_(*spec.topology, spec.method.rate, spec.seeds),
      matchmaker_(spec.workers),
      clock_(spec.workers),
      pool_(2 * spec.workers, options.threads),
      sampler_(spec, objective, recorder,
               [this](int count, const auto& body) { pool_.parallel_for(count, body); }) {
  if (has_durations(options.network, ensemble_.vector_bytes()))
    for (int w = 0; w < spec.workers; ++w) offers_.emplace_back(ensemble_.dimension());
  if (spec.keep_trace) trace_.resize(states_.size());
  for (int w = 0; w < spec.workers; ++w) {
    state(w).mean_seconds = options.compute.mean_seconds(w);
    state(w).backlog_limit = spec.backlog_limit(w);
  }
  for (const Pause& p : options.compute.pauses) {
    push({.seconds = p.at_seconds, .worker = p.worker, .kind = Event::Kind::pause_begins});
    push({.seconds = p.at_seconds + p.for_seconds,
          .worker = p.worker,
          .kind = Event::Kind::pause_ends});
  }
}

void VirtualAsync::push(Event event) {
  event.sequence = sequence_++;
  events_.push(event);
}

void VirtualAsync::trace(int w, TraceEvent::Kind kind, std::uint64_t exchange) {
  if (spec_.keep_trace) trace_[static_cast<std::size_t>(w)].push_back({kind, time_, exchange});
}

Outcome VirtualAsync::run(std::stop_token stop) {
  for (int w = 0; w < spec_.workers; ++w) begin_waiting(w);
  while (!ended_ && !stop.stop_requested() && !not_finite_.load(std::memory_order_relaxed)) {
    ACID_ASSERT(!events_.empty(), "no event at {} s", seconds_);
    const double limit = time_limit();
    const double next_event = clock_.time_at(events_.top().seconds);
    const double edge = schedule_.peek().due, sample = sampler_.next();
    if (edge <= std::min({next_event, sample, limit})) {
      advance_to(edge, clock_.seconds_at(edge));
      handle_due_edge();
    } else if (sample < std::min(next_event, limit) - simultaneous(sample)) {
      advance_to(sample, clock_.seconds_at(sample));
      take_sample(sample);
      if (sampler_.diverged() || sampler_.target_reached()) break;
    } else if (next_event > limit + simultaneous(limit)) {
      advance_to(limit, clock_.seconds_at(limit));
      break;
    } else {
      const Event event = events_.top();
      events_.pop();
      advance_to(next_event, event.seconds);
      handle(event);
    }
  }
  if (stop.stop_requested()) return ended_early(Ending::stopped, "", totals_.position);
  pool_.wait_all();  // a task that has not run yet may be the one that diverges
  if (sampler_.diverged() || not_finite_.load(std::memory_order_relaxed))
    return diverged(sampler_, notes_, totals_.position);
  drain();
  pool_.wait_all();
  return finish();
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

void VirtualAsync::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::gradient_done:
      return gradient_done(event.worker);
    case Event::Kind::pause_begins:
      return pause(event.worker, true);
    case Event::Kind::pause_ends:
      return pause(event.worker, false);
    case Event::Kind::exchange_done: {
      const int i = event.edge.i, j = event.edge.j;
      pool_.submit(i, j, ChainPool::Weight::light,
                   [this, i, j, t = time_, offered = state(i).offered](int) {
                     const auto oi = offers_[static_cast<std::size_t>(i)].span();
                     const auto oj = offers_[static_cast<std::size_t>(j)].span();
                     ensemble_.worker(i).apply(t, offered, oi, oj);
                     ensemble_.worker(j).apply(t, offered, oj, oi);
                   });
      state(i).partner = state(j).partner = -1;
      exchange_done(event.edge);
      start_ready_exchanges();
    }
  }
}

void VirtualAsync::handle_due_edge() {
  matchmaker_.add(schedule_.pop());
  start_ready_exchanges();
}

void VirtualAsync::start_ready_exchanges() {
  const double bytes = ensemble_.vector_bytes();
  while (const auto edge = matchmaker_.take()) {
    const int i = edge->i, j = edge->j;
    totals_.position.bytes += static_cast<std::int64_t>(2 * bytes);
    trace(i, TraceEvent::Kind::exchange, edge->number);
    trace(j, TraceEvent::Kind::exchange, edge->number);
    const double duration = options_.network.between(i, j).seconds(bytes);
    if (duration == 0) {
      pool_.submit(i, j, ChainPool::Weight::light, [this, i, j, t = time_](int) {
        Worker::exchange(ensemble_.worker(i), ensemble_.worker(j), t);
      });
      exchange_done(*edge);
    } else {
      pool_.submit(i, j, ChainPool::Weight::light, [this, i, j, t = time_](int) {
        ensemble_.worker(i).offer(t, offers_[static_cast<std::size_t>(i)].span());
        ensemble_.worker(j).offer(t, offers_[static_cast<std::size_t>(j)].span());
      });
      state(i).partner = j;
      state(j).partner = i;
      state(i).offered = state(j).offered = time_;
      push({.seconds = seconds_ + duration,
            .worker = i,
            .kind = Event::Kind::exchange_done,
            .edge = *edge});
    }
  }
}

void VirtualAsync::exchange_done(const DueEdge& edge) {
  matchmaker_.finish(edge);
  ++totals_.exchanges;
  edges_.add(edge.i, edge.j);
  release_if_caught_up(edge.i);
  release_if_caught_up(edge.j);
}

void VirtualAsync::gradient_done(int w) {
  const bool behind = matchmaker_.backlog(w) > state(w).backlog_limit;
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
  push({.seconds = options_.compute.end_seconds(w, seconds_, duration), .worker = w});
}

void VirtualAsync::submit_begin(int w) {
  trace(w, TraceEvent::Kind::begin_gradient);
  pool_.submit(w, spec_.workers + w, ChainPool::Weight::light,
               [this, w, t = time_](int) { ensemble_.worker(w).begin_gradient(t); });
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
  trace(w, TraceEvent::Kind::commit_gradient);
  if (begin_next) trace(w, TraceEvent::Kind::begin_gradient);
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
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (event.kind != Event::Kind::exchange_done) continue;
    seconds_ = event.seconds;
    handle(event);
  }
  ACID_ASSERT(matchmaker_.idle(), "{} exchanges left", matchmaker_.waiting());
  totals_.position.seconds = seconds_;
}

Outcome VirtualAsync::finish() {
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
  outcome.trace = std::move(trace_);
  return outcome;
}

}  // namespace acid
