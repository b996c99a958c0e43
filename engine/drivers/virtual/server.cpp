#include "engine/drivers/virtual/server.hpp"

#include <algorithm>
#include <utility>

namespace acid {
namespace {

VirtualOptions with_durations(VirtualOptions options) {
  options.gradient_clock = GradientClock::duration;
  return options;
}

// Events this close in normalised time are simultaneous; a sample comes after them.
double close_to(double time) { return 1e-9 * std::max(1.0, time); }

}  // namespace

VirtualServer::VirtualServer(const Run& run, const VirtualOptions& options)
    : run_(run),
      spec_(run.spec),
      options_(with_durations(options)),
      workers_(run, options_, timetable_, player_),
      walks_(static_cast<std::size_t>(spec_.workers)),
      messages_(spec_, run.objective.dimension(), spec_.workers),
      link_above_(options_.network.hubs.value_or(options_.network.link)),
      ways_(static_cast<std::size_t>(spec_.method.servers(spec_.workers) + 1)),
      player_(run, options.threads, run.spec.keep_events),
      sampler_(run.spec, run.objective, run.recorder,
               [this](int count, const auto& body) { player_.pool().parallel_for(count, body); }) {
  if (run.checkpointing.resume != nullptr) {
    resume(*run.checkpointing.resume);
    return;
  }
  workers_.plan_pauses();
  for (int w = 0; w < spec_.workers; ++w) go_on(w);
}

template <class Archive>
void VirtualServer::persist(Archive& archive) {
  archive(player_, timetable_, totals_, workers_.clock(), walks_, arrivals_, ways_, notes_,
          sampler_);
  for (int w = 0; w < spec_.workers; ++w) archive(workers_.state(w));
}

void VirtualServer::resume(const CheckpointFile& file) {
  load_state(file, kLayout, *this);
  player_.ensemble().restore(file);
  messages_.restore(file);
  for (int w = 0; w < spec_.workers; ++w)
    if (walk(w).computing) workers_.compute(w);
}

void VirtualServer::save_cut() {
  player_.pool().wait_light();
  if (player_.diverged()) return;
  Ensemble& ensemble = player_.ensemble();
  player_.log().mark(EventKind::checkpoint, std::max(timetable_.time(), ensemble.latest_event()),
                     ensemble);
  player_.log().flush();
  std::vector<StateVectors> vectors = ensemble.vectors();
  messages_.add_to(vectors);
  run_.checkpointing.save(timetable_.steps(), totals_.position, std::move(vectors), kLayout, *this);
}

Outcome VirtualServer::execute() {
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  bool over = false;
  while (!over && !ended_ && !run_.stop.stop_requested() && !player_.diverged()) {
    if (checkpoints != nullptr && checkpoints->due(timetable_.steps(), totals_.position))
      save_cut();
    over = !step();
    timetable_.count_step();
  }
  player_.pool().wait_light();  // a commit that has not run yet may be the one that diverges
  if (!over && !ended_ && !player_.diverged()) {
    if (checkpoints != nullptr && !checkpoints->has(timetable_.steps())) save_cut();
    return ended_early(Ending::stopped, "", totals_.position);
  }
  player_.pool().wait_all();
  if (!sampler_.diverged() && !player_.diverged()) drain();
  player_.pool().wait_all();
  totals_.position.bytes += player_.take_extra_bytes();
  if (!sampler_.diverged() && !player_.diverged()) return finish();
  player_.log().flush();
  return diverged(sampler_, notes_, totals_.position);
}

// What happens right at a limit still counts.
bool VirtualServer::step() {
  const Budget& budget = spec_.budget;
  const double limit = std::min(
      budget.normalised_time, budget.seconds < kNever ? workers_.time_at(budget.seconds) : kNever);
  const double next_seconds = timetable_.next_seconds(), next = workers_.time_at(next_seconds);
  const double sample_seconds = sampler_.sample_times().next_seconds();
  const bool by_clock = sample_seconds < kNever;
  const double sample =
      by_clock ? workers_.time_at(sample_seconds) : sampler_.sample_times().next();
  if (by_clock ? sample_seconds < std::min(next_seconds, budget.seconds) && sample <= limit
               : sample < std::min(next, limit) - close_to(sample)) {
    timetable_.advance_to(sample, by_clock ? sample_seconds : workers_.clock().seconds_at(sample));
    take_sample(by_clock ? timetable_.time() : sample);
    return !sampler_.diverged() && !sampler_.target_reached();
  }
  // Normalised time stands still while all wait for replies.
  if (next > limit + close_to(limit) || next_seconds > budget.seconds * (1 + 1e-9)) {
    timetable_.advance_to(limit, budget.seconds < kNever && limit < budget.normalised_time
                                     ? budget.seconds
                                     : workers_.clock().seconds_at(limit));
    return false;
  }
  ACID_ASSERT(next_seconds < kNever, "nothing can happen at {} s", timetable_.seconds());
  const Occurrence occurrence = timetable_.pop();
  timetable_.advance_to(workers_.time_at(occurrence.seconds), occurrence.seconds);
  handle(occurrence);
  return true;
}

void VirtualServer::handle(const Occurrence& occurrence) {
  const int w = occurrence.worker;
  if (w < 0) return handle_visit(w + servers().size(), occurrence.kind);
  switch (occurrence.kind) {
    case Occurrence::Kind::gradient_done:
      return gradient_done(w);
    case Occurrence::Kind::message_arrives:
      return serve(w);
    case Occurrence::Kind::reply_arrives:
      walk(w).replied = true;
      break;
    case Occurrence::Kind::pause_begins:
    case Occurrence::Kind::pause_ends:
      workers_.pause(w, occurrence.kind == Occurrence::Kind::pause_begins);
      break;
    case Occurrence::Kind::exchange_done:
      break;
  }
  const bool may_hear = walk(w).waiting && walk(w).replied;
  if (may_hear && (ended_ || !workers_.state(w).paused)) go_on(w);
}

void VirtualServer::go_on(int w) {
  Walk& at = walk(w);
  while (true) {
    const Leg& leg = spec_.method.round_of(w).leg(at.leg);
    if (at.phase == static_cast<std::int64_t>(leg.size())) {
      ++at.leg;
      at.phase = 0;
      if (ended_) return;
      continue;
    }
    switch (leg[static_cast<std::size_t>(at.phase)]) {
      case Phase::gradient:
        if (!ended_) begin_gradient(w);
        return;
      case Phase::step:
        commit(w);
        break;
      case Phase::say:
        say(w);
        break;
      case Phase::hear:
        at.waiting = !at.replied;
        if (at.waiting) {
          if (!ended_ && !workers_.state(w).held && workers_.state(w).begun > 0) workers_.hold(w);
          return;
        }
        hear(w);
        break;
    }
    ++at.phase;
  }
}

void VirtualServer::begin_gradient(int w) {
  Walk& at = walk(w);
  at.computing = true;
  if (workers_.state(w).held) {
    totals_.idle_seconds += workers_.release(w);
  } else if (workers_.state(w).begun == 0) {
    workers_.begin_waiting(w);
  } else {
    player_.begin(w, timetable_.time());
    workers_.compute_next(w);
  }
}

// Counted here, so that the server knows the learning rate of what it is sent.
void VirtualServer::gradient_done(int w) {
  Walk& at = walk(w);
  workers_.end_span(w, SpanKind::compute, workers_.state(w).computing_since);
  Position& position = totals_.position;
  ++position.gradients;
  position.normalised_time = timetable_.time();
  position.seconds = timetable_.seconds();
  totals_.learning_rate = at.learning_rate = spec_.learning_rate(position);
  at.staleness = servers().staleness(w);
  ++at.phase;
  ended_ = budget_spent();
  go_on(w);
  if (position.gradients % 16 == 0) player_.tell_progress(position);
}

void VirtualServer::commit(int w) {
  VirtualWorkers::State& s = workers_.state(w);
  walk(w).computing = false;
  player_.commit({.worker = w,
                  .time = timetable_.time(),
                  .position = totals_.position,
                  .learning_rate = walk(w).learning_rate,
                  .is_first = !std::exchange(s.measured, true),
                  .staleness = walk(w).staleness},
                 s.loss, notes_.emplace_back());
}

// Of a server's link the bytes of one message leave when those before it have.
double VirtualServer::arrives(const LinkCost& link, double& link_free, std::size_t bytes) {
  const double seconds = link.transfer_seconds(static_cast<double>(bytes));
  link_free = std::max(link_free, timetable_.seconds()) + seconds;
  return link_free + link.latency_seconds;
}

void VirtualServer::say(int w) {
  const std::size_t dimension = run_.objective.dimension();
  const int h = servers().of(w);
  player_.say(w, timetable_.time(), messages_.said(w));
  walk(w).replied = false;
  totals_.position.bytes += spec_.bytes_per_exchange(dimension);
  const std::size_t bytes = spec_.method.packed_message(dimension).bytes();
  timetable_.push({.seconds = arrives(options_.network.link, way(h).in_free, bytes),
                   .worker = w,
                   .kind = Occurrence::Kind::message_arrives});
}

void VirtualServer::serve(int w) {
  const int h = servers().of(w);
  walk(w).arrival = ++arrivals_;
  player_.serve(w, timetable_.time(), messages_.said(w), messages_.reply(w),
                servers().arrive(w, walk(w).learning_rate));
  timetable_.push(
      {.seconds = arrives(options_.network.link, way(h).out_free, messages_.reply_bytes()),
       .worker = w,
       .kind = Occurrence::Kind::reply_arrives});
  if (servers().leave(h)) leave(h);
}

void VirtualServer::leave(int h) {
  player_.say_above(h, timetable_.time(), messages_.said_above(h));
  totals_.position.bytes +=
      static_cast<std::int64_t>(spec_.method.bytes_per_visit(run_.objective.dimension()));
  timetable_.push(
      {.seconds = arrives(link_above_, way_above().in_free, messages_.said_above_bytes()),
       .worker = h - servers().size(),
       .kind = Occurrence::Kind::message_arrives});
}

void VirtualServer::handle_visit(int h, Occurrence::Kind kind) {
  const double t = timetable_.time();
  if (kind == Occurrence::Kind::message_arrives) {
    player_.serve_above(h, t, messages_.said_above(h), messages_.reply_above(h),
                        servers().arrive_above(h));
    timetable_.push(
        {.seconds = arrives(link_above_, way_above().out_free, messages_.reply_above_bytes()),
         .worker = h - servers().size(),
         .kind = Occurrence::Kind::reply_arrives});
    return;
  }
  player_.hear_above(h, t, messages_.said_above(h), messages_.reply_above(h));
  servers().come_back(h);
}

void VirtualServer::hear(int w) {
  player_.hear(w, timetable_.time(), messages_.said(w), messages_.reply(w),
               static_cast<std::uint64_t>(walk(w).arrival));
  ++totals_.exchanges;
}

bool VirtualServer::budget_spent() {
  const Budget& budget = spec_.budget;
  if (budget.bytes < kNever) totals_.position.bytes += player_.take_extra_bytes();
  return (budget.normalised_time == kNever && totals_.position.gradients >= budget.gradients) ||
         static_cast<double>(totals_.position.bytes) >= budget.bytes;
}

void VirtualServer::take_sample(double time) {
  player_.pool().wait_light();
  if (player_.diverged()) return;
  totals_.position.bytes += player_.take_extra_bytes();
  totals_.position.normalised_time = time;
  totals_.position.seconds = timetable_.seconds();
  const Ensemble& ensemble = player_.ensemble();
  const double t = std::max(timetable_.time(), ensemble.latest_event());
  sampler_.take(player_.log().measure(t, ensemble, sampler_.sample_times().evaluates_workers()),
                totals_, notes_);
  run_.recorder.progress(totals_.position);
  notes_.clear();
  workers_.forget_norms();
}

// After the last gradient: what has been said arrives, and whoever waits for a reply hears it. Time
// stands still, as in VirtualAsync.
void VirtualServer::drain() {
  ended_ = true;
  totals_.position.normalised_time = timetable_.time();
  workers_.clock().stop(timetable_.seconds(), timetable_.time());
  while (!timetable_.empty()) {
    const Occurrence occurrence = timetable_.pop();
    const bool arrives = occurrence.kind == Occurrence::Kind::message_arrives ||
                         occurrence.kind == Occurrence::Kind::reply_arrives;
    if (arrives) handle(occurrence);
  }
  totals_.position.seconds = timetable_.seconds();
}

Outcome VirtualServer::finish() {
  player_.log().flush();
  workers_.end_holds(totals_.idle_seconds);
  Ensemble& ensemble = player_.ensemble();
  Outcome outcome = conclude(ensemble, sampler_,
                             std::max(timetable_.time(), ensemble.latest_event()), totals_, notes_);
  workers_.tell_times(outcome);
  outcome.exchanges_drawn = totals_.exchanges;
  return outcome;
}

}  // namespace acid
