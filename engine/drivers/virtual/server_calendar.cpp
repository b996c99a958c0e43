#include "engine/drivers/virtual/server_calendar.hpp"

#include <algorithm>

namespace acid {

ServerCalendar::ServerCalendar(EventState& state)
    : state_(state),
      walks_(static_cast<std::size_t>(state.spec.workers)),
      link_above_(state.options.network.hubs.value_or(state.options.network.link)),
      links_(static_cast<std::size_t>(state.spec.method.servers(state.spec.workers) + 1)) {
  for (Walk& walk : walks_) walk.learning_rate = state.spec.first_rate();
}

void ServerCalendar::begin() {
  state_.workers.plan_pauses();
  for (int w = 0; w < state_.spec.workers; ++w) go_on(w);
}

template <class Archive>
void ServerCalendar::persist_all(Archive& archive) {
  archive(state_.player, state_.timetable, state_.totals, state_.workers.clock(), walks_, arrivals_,
          links_, state_.notes, state_.shell.sampler);
  for (int w = 0; w < state_.spec.workers; ++w) archive(state_.workers.state(w));
  state_.workers.persist_debts(archive);
}

void ServerCalendar::resume(const CheckpointFile&) {
  for (int w = 0; w < state_.spec.workers; ++w)
    if (walk(w).computing) state_.workers.compute(w);
}

void ServerCalendar::handle(const Occurrence& occurrence) {
  int w = occurrence.worker;
  if (w < 0) w = servers().caller(w + servers().size());
  switch (occurrence.kind) {
    case Occurrence::Kind::gradient_done:
      return gradient_done(w);
    case Occurrence::Kind::message_arrives:
      return serve(w);
    case Occurrence::Kind::reply_arrives:
      if (is_hub(w)) return hear(w);
      walk(w).replied = true;
      break;
    case Occurrence::Kind::pause_begins:
    case Occurrence::Kind::pause_ends:
      state_.workers.pause(w, occurrence.kind == Occurrence::Kind::pause_begins);
      break;
    case Occurrence::Kind::exchange_done:
    case Occurrence::Kind::pairs_meet:
      break;
  }
  const bool may_hear = walk(w).waiting && walk(w).replied;
  if (may_hear && (state_.ended || !state_.workers.state(w).paused)) go_on(w);
}

void ServerCalendar::go_on(int w) {
  go_to_next_gradient(
      state_.spec.method.round_of(w), walk(w).place, [this] { return state_.ended; },
      [this, w](Phase phase) {
        if (phase == Phase::gradient) begin_gradient(w);
        if (phase == Phase::step) commit(w);
        if (phase == Phase::say) say(w);
        return phase != Phase::hear || hears(w);
      });
}

// Returns false if the worker waits for the reply.
bool ServerCalendar::hears(int w) {
  Walk& at = walk(w);
  at.waiting = !at.replied;
  if (!at.waiting)
    hear(w);
  else if (!state_.ended && !state_.workers.state(w).held && state_.workers.state(w).begun > 0)
    state_.workers.hold(w);
  return !at.waiting;
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

// Gradients are counted here, so that the server knows the learning rate of what it is sent.
void ServerCalendar::gradient_done(int w) {
  if (state_.workers.lasts_on(w)) return;
  Walk& at = walk(w);
  state_.workers.end_span(w, SpanKind::compute, state_.workers.state(w).computing_since);
  state_.count_gradient();
  at.learning_rate = state_.totals.learning_rate;
  at.staleness = servers().staleness(w);
  ++at.place.phase;
  state_.look_for_end();
  go_on(w);
}

void ServerCalendar::commit(int w) {
  walk(w).computing = false;
  state_.commit(
      {.worker = w, .learning_rate = walk(w).learning_rate, .staleness = walk(w).staleness});
}

// A message's bytes leave on its server's link after those of the messages before it. Hubs have
// numbers below 0 there, and so come before workers.
void ServerCalendar::push(int caller, Occurrence::Kind kind, std::size_t bytes) {
  const LinkCost& link = is_hub(caller) ? link_above_ : state_.options.network.link;
  Link& way = links_[static_cast<std::size_t>(servers().of(caller))];
  double& free = kind == Occurrence::Kind::message_arrives ? way.in_free : way.out_free;
  const double leaves = std::max(free, state_.timetable.seconds());
  free = leaves + link.port_seconds(static_cast<double>(bytes));
  state_.timetable.push(
      {.seconds = leaves + link.transfer_seconds(static_cast<double>(bytes)) + link.latency_seconds,
       .worker = is_hub(caller) ? caller - servers().caller(servers().size()) : caller,
       .kind = kind});
}

Method::Bytes ServerCalendar::bytes_of(int caller) const {
  const std::size_t dimension = state_.spec.travelling(state_.run.objective.dimension());
  const Method& method = state_.spec.method;
  return is_hub(caller) ? method.bytes_per_visit(dimension) : method.bytes_per_exchange(dimension);
}

void ServerCalendar::say(int caller) {
  state_.player.say(caller, state_.timetable.time(), messages().said(caller));
  if (!is_hub(caller)) walk(caller).replied = false;
  const Method::Bytes bytes = bytes_of(caller);
  state_.totals.position.bytes += static_cast<std::int64_t>(bytes.both());
  push(caller, Occurrence::Kind::message_arrives, bytes.said);
}

void ServerCalendar::serve(int caller) {
  const std::span<float> reply = messages().reply(caller);
  if (!is_hub(caller)) walk(caller).arrival = ++arrivals_;
  state_.player.serve(caller, state_.timetable.time(), messages().said(caller), reply,
                      servers().arrive(caller, is_hub(caller) ? 0 : walk(caller).learning_rate));
  push(caller, Occurrence::Kind::reply_arrives, bytes_of(caller).answered);
  if (const int s = servers().of(caller); servers().leave(s)) say(servers().caller(s));
}

void ServerCalendar::hear(int caller) {
  const std::uint64_t number =
      is_hub(caller) ? 0 : static_cast<std::uint64_t>(walk(caller).arrival);
  state_.player.hear(caller, state_.timetable.time(), messages().said(caller),
                     messages().reply(caller), number);
  if (is_hub(caller)) return servers().come_back(caller - servers().caller(0));
  ++state_.totals.exchanges;
  state_.workers.owe(caller);
}

}  // namespace acid
