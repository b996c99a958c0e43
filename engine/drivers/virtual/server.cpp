#include "engine/drivers/virtual/server.hpp"

#include <algorithm>

namespace acid {

ServerCalendar::ServerCalendar(EventState& state)
    : state_(state),
      walks_(static_cast<std::size_t>(state.spec.workers)),
      messages_(state.spec, state.run.objective.dimension(), state.spec.workers),
      link_above_(state.options.network.hubs.value_or(state.options.network.link)),
      ways_(static_cast<std::size_t>(state.spec.method.servers(state.spec.workers) + 1)) {}

void ServerCalendar::begin() {
  state_.workers.plan_pauses();
  for (int w = 0; w < state_.spec.workers; ++w) go_on(w);
}

template <class Archive>
void ServerCalendar::persist_all(Archive& archive) {
  archive(state_.player, state_.timetable, state_.totals, state_.workers.clock(), walks_, arrivals_,
          ways_, state_.notes, state_.sampler);
  for (int w = 0; w < state_.spec.workers; ++w) archive(state_.workers.state(w));
}

void ServerCalendar::resume(const CheckpointFile& file) {
  messages_.restore(file);
  for (int w = 0; w < state_.spec.workers; ++w)
    if (walk(w).computing) state_.workers.compute(w);
}

void ServerCalendar::handle(const Occurrence& occurrence) {
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
      state_.workers.pause(w, occurrence.kind == Occurrence::Kind::pause_begins);
      break;
    case Occurrence::Kind::exchange_done:
      break;
  }
  const bool may_hear = walk(w).waiting && walk(w).replied;
  if (may_hear && (state_.ended || !state_.workers.state(w).paused)) go_on(w);
}

void ServerCalendar::go_on(int w) {
  Walk& at = walk(w);
  while (true) {
    const Leg& leg = state_.spec.method.round_of(w).leg(at.leg);
    if (at.phase == static_cast<std::int64_t>(leg.size())) {
      ++at.leg;
      at.phase = 0;
      if (state_.ended) return;
      continue;
    }
    switch (leg[static_cast<std::size_t>(at.phase)]) {
      case Phase::gradient:
        if (!state_.ended) begin_gradient(w);
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
          if (!state_.ended && !state_.workers.state(w).held && state_.workers.state(w).begun > 0)
            state_.workers.hold(w);
          return;
        }
        hear(w);
        break;
    }
    ++at.phase;
  }
}

void ServerCalendar::begin_gradient(int w) {
  Walk& at = walk(w);
  at.computing = true;
  if (state_.workers.state(w).held) {
    state_.totals.idle_seconds += state_.workers.release(w);
  } else if (state_.workers.state(w).begun == 0) {
    state_.workers.begin_waiting(w);
  } else {
    state_.player.begin(w, state_.timetable.time());
    state_.workers.compute_next(w);
  }
}

// Counted here, so that the server knows the learning rate of what it is sent.
void ServerCalendar::gradient_done(int w) {
  Walk& at = walk(w);
  state_.workers.end_span(w, SpanKind::compute, state_.workers.state(w).computing_since);
  state_.count_gradient();
  at.learning_rate = state_.totals.learning_rate;
  at.staleness = servers().staleness(w);
  ++at.phase;
  state_.look_for_end();
  go_on(w);
}

void ServerCalendar::commit(int w) {
  walk(w).computing = false;
  state_.commit(
      {.worker = w, .learning_rate = walk(w).learning_rate, .staleness = walk(w).staleness});
}

// The bytes of a message leave on its server's link when those of the messages before it have.
double ServerCalendar::arrives(const LinkCost& link, double& link_free, std::size_t bytes) {
  const double seconds = link.transfer_seconds(static_cast<double>(bytes));
  link_free = std::max(link_free, state_.timetable.seconds()) + seconds;
  return link_free + link.latency_seconds;
}

void ServerCalendar::say(int w) {
  const std::size_t dimension = state_.run.objective.dimension();
  const int h = servers().of(w);
  state_.player.say(w, state_.timetable.time(), messages_.said(w));
  walk(w).replied = false;
  state_.totals.position.bytes += state_.spec.bytes_per_exchange(dimension);
  const std::size_t bytes = state_.spec.method.packed_message(dimension).bytes();
  state_.timetable.push({.seconds = arrives(state_.options.network.link, way(h).in_free, bytes),
                         .worker = w,
                         .kind = Occurrence::Kind::message_arrives});
}

void ServerCalendar::serve(int w) {
  const int h = servers().of(w);
  walk(w).arrival = ++arrivals_;
  state_.player.serve(w, state_.timetable.time(), messages_.said(w), messages_.reply(w),
                      servers().arrive(w, walk(w).learning_rate));
  state_.timetable.push(
      {.seconds = arrives(state_.options.network.link, way(h).out_free, messages_.reply_bytes()),
       .worker = w,
       .kind = Occurrence::Kind::reply_arrives});
  if (servers().leave(h)) leave(h);
}

void ServerCalendar::leave(int h) {
  state_.player.say_above(h, state_.timetable.time(), messages_.said_above(h));
  state_.totals.position.bytes += static_cast<std::int64_t>(
      state_.spec.method.bytes_per_visit(state_.run.objective.dimension()));
  state_.timetable.push(
      {.seconds = arrives(link_above_, way_above().in_free, messages_.said_above_bytes()),
       .worker = h - servers().size(),
       .kind = Occurrence::Kind::message_arrives});
}

void ServerCalendar::handle_visit(int h, Occurrence::Kind kind) {
  const double t = state_.timetable.time();
  if (kind == Occurrence::Kind::message_arrives) {
    state_.player.serve_above(h, t, messages_.said_above(h), messages_.reply_above(h),
                              servers().arrive_above(h));
    state_.timetable.push(
        {.seconds = arrives(link_above_, way_above().out_free, messages_.reply_above_bytes()),
         .worker = h - servers().size(),
         .kind = Occurrence::Kind::reply_arrives});
    return;
  }
  state_.player.hear_above(h, t, messages_.said_above(h), messages_.reply_above(h));
  servers().come_back(h);
}

void ServerCalendar::hear(int w) {
  state_.player.hear(w, state_.timetable.time(), messages_.said(w), messages_.reply(w),
                     static_cast<std::uint64_t>(walk(w).arrival));
  ++state_.totals.exchanges;
}

}  // namespace acid
