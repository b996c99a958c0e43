#include "engine/drivers/virtual/meeting_calendar.hpp"

#include "engine/base/error.hpp"

namespace acid {
namespace {

// Gradient records that are kept apart between two samples; more are summed.
constexpr std::size_t kMostNotes = 1 << 16;
constexpr std::int64_t kExchangesPerReport = 4096;  // of progress, in runs without gradients

}  // namespace

MeetingCalendar::MeetingCalendar(EventState& state)
    : state_(state),
      bytes_per_exchange_(state.spec.bytes_per_exchange(state.run.objective.dimension())),
      exchanges_(state.run, state.options, state.timetable, state.workers, state.player) {
  const ComputeModel& compute = state.options.compute;
  ACID_ASSERT(!consensus_only() || state.spec.budget.normalised_time < kNever,
              "exchanges alone without an end");
  ACID_ASSERT(
      state.options.gradient_clock == GradientClock::duration || compute.slow_factors.empty(),
      "{} speed factors without durations", compute.slow_factors.size());
  if (state.options.gradient_clock == GradientClock::poisson)
    rings_.emplace(state.spec.workers, compute.mean_seconds(0), state.spec.seeds);
}

template <class Archive>
void MeetingCalendar::persist_all(Archive& archive) {
  archive(state_.player, state_.timetable, state_.totals, state_.workers.clock(), exchanges_,
          state_.notes, exchanges_.edges(), holds_, state_.shell.sampler,
          state_.shell.sampler.gathered());
  if (rings_) archive(*rings_);
  for (int w = 0; w < state_.spec.workers; ++w) archive(state_.workers.state(w));
  state_.workers.persist_debts(archive);
}

void MeetingCalendar::resume(const CheckpointFile& file) {
  exchanges_.restore(file);
  for (int w = 0; w < state_.spec.workers; ++w)
    if (state_.options.gradient_clock == GradientClock::duration && !state_.workers.state(w).held)
      state_.workers.compute(w);
}

void MeetingCalendar::handle(const Occurrence& occurrence) {
  const int w = occurrence.worker;
  switch (occurrence.kind) {
    case Occurrence::Kind::gradient_done:
      return gradient_done(w);
    case Occurrence::Kind::pause_begins:
      return state_.workers.pause(w, true);
    case Occurrence::Kind::pause_ends:
      state_.workers.pause(w, false);
      return release_if_caught_up(w);
    case Occurrence::Kind::message_arrives:
    case Occurrence::Kind::reply_arrives:
      break;
    case Occurrence::Kind::pairs_meet:
      exchanges_.draw_pairs();
      return start_ready_exchanges();
    case Occurrence::Kind::exchange_done: {
      const DueEdge edge = exchanges_.matchmaker().in_flight(w);
      exchanges_.apply(edge);
      exchange_done(edge);
      start_ready_exchanges();
    }
  }
}

void MeetingCalendar::gradient_done(int w) {
  if (state_.workers.lasts_on(w)) return exchanges_.set_busy(w);
  exchanges_.set_free(w);
  const bool behind = is_behind(w);
  state_.workers.end_span(w, SpanKind::compute, state_.workers.state(w).computing_since);
  commit(w, !behind);
  if (state_.ended) return;
  if (behind) return hold(w);
  state_.workers.compute_next(w);
}

// Messages have left the cards that they share, or a worker rings: under the Poisson clock a
// gradient is over as soon as it has begun. Held and paused workers do not ring.
void MeetingCalendar::handle_ring() {
  if (exchanges_.next_off_cards() <= state_.timetable.seconds()) return exchanges_.leave_cards();
  const int w = rings_->pop().worker;
  if (exchanges_.fetches_ahead()) fetch_gradients();
  VirtualWorkers::State& s = state_.workers.state(w);
  if (s.held || s.paused) return;
  state_.workers.end_span(w, SpanKind::compute, s.computing_since);
  s.computing_since = state_.timetable.seconds();
  if (is_behind(w)) return hold(w);
  state_.player.begin(w, state_.timetable.time());
  state_.workers.compute(w);
  commit(w, false);
}

bool MeetingCalendar::is_behind(int w) const {
  return !exchanges_.instant() &&
         exchanges_.matchmaker().backlog(w) > state_.workers.state(w).backlog_limit;
}

void MeetingCalendar::commit(int w, bool begins_next) {
  state_.count_gradient();
  if (state_.notes.size() >= kMostNotes) gather_notes();
  state_.commit(
      {.worker = w, .learning_rate = state_.totals.learning_rate, .begins_next = begins_next});
  state_.look_for_end();
}

// So many commits between two samples need not be kept one by one.
void MeetingCalendar::gather_notes() {
  state_.player.pool().wait_light();
  if (state_.player.diverged()) return;
  state_.shell.sampler.gather(state_.notes);
  state_.notes.clear();
}

void MeetingCalendar::hold(int w) {
  ++holds_;
  state_.workers.hold(w);
}

void MeetingCalendar::release_if_caught_up(int w) {
  const VirtualWorkers::State& s = state_.workers.state(w);
  if (state_.ended || !s.held || s.paused) return;
  if (exchanges_.matchmaker().backlog(w) > s.backlog_limit) return;
  state_.totals.idle_seconds += state_.workers.release(w);
}

void MeetingCalendar::handle_due() {
  const DueEdge edge = exchanges_.pop_due();
  if (!exchanges_.instant()) return start_ready_exchanges();
  state_.totals.position.bytes += bytes_per_exchange_;
  exchanges_.exchange_at_once(edge);
  count_exchange();
}

void MeetingCalendar::start_ready_exchanges() {
  while (const auto edge = exchanges_.take()) {
    state_.totals.position.bytes += bytes_per_exchange_;
    if (!exchanges_.begin(*edge)) exchange_done(*edge);
  }
}

void MeetingCalendar::exchange_done(const DueEdge& edge) {
  exchanges_.finish(edge);
  count_exchange();
  release_if_caught_up(edge.i);
  release_if_caught_up(edge.j);
}

void MeetingCalendar::count_exchange() {
  Totals& totals = state_.totals;
  ++totals.exchanges;
  if (!consensus_only()) return;  // otherwise commits report progress
  totals.position.normalised_time = state_.timetable.time();
  totals.position.seconds = state_.timetable.seconds();
  if (totals.exchanges % kExchangesPerReport == 0) state_.player.tell_progress(totals.position);
  state_.look_for_end();
}

void MeetingCalendar::end() {
  waiting_at_end_ = exchanges_.matchmaker().waiting();
  exchanges_.end();
}

void MeetingCalendar::tell(Outcome& outcome) {
  ACID_ASSERT(exchanges_.matchmaker().idle(), "{} exchanges left",
              exchanges_.matchmaker().waiting());
  outcome.edges = exchanges_.edges().list();
  outcome.exchanges_drawn = exchanges_.matchmaker().due();
  outcome.exchanges_waiting = waiting_at_end_;
  outcome.holds = holds_;
}

}  // namespace acid
