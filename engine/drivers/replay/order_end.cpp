// How the events of a replay end: with the run, before it, or before those of other workers.
#include <fmt/format.h>

#include <algorithm>

#include "engine/drivers/replay/order.hpp"

namespace acid {

// The last event of a worker that was lost while the others went on. That happens to workers with
// clocks of their own only, and never to worker 0, whose process is rank 0.
void ReplayOrder::read_loss(int worker) {
  Cursor& c = cursor(worker);
  c.lost = !shared_clock_ && worker > 0 && !c.events->empty() &&
           c.events->back().kind == EventKind::lost;
  if (!c.lost) return;
  const auto missed = static_cast<std::int64_t>(c.events->back().exchange & kExchangeMask);
  c.at = c.events->size() - 1;
  if (missed > c.marks)
    broken(worker, fmt::format("the last {} marks of the worker were taken without it, and it has "
                               "{}",
                               missed, c.marks));
  c.at = 0;
  c.marks -= missed;
  std::int64_t marks = 0;
  for (const Event& event : *c.events)
    if (is_mark(event.kind) && marks++ < c.marks && event.kind == EventKind::measured) ++c.samples;
}

ReplayStep ReplayOrder::lost_step(int worker) {
  Cursor& c = cursor(worker);
  const Event last = c.event();
  ++c.at;
  c.state = State::ended;
  ++ended_;
  return {.kind = EventKind::lost,
          .time = last.time,
          .worker = worker,
          .exchange = last.exchange & kExchangeMask};
}

int ReplayOrder::awaited_at_mark() const {
  return static_cast<int>(std::ranges::count_if(cursors_, [](const Cursor& c) {
    return !c.lost || c.marks > 0 || c.state == State::at_mark;
  }));
}

// What it has offered, and not applied.
bool ReplayOrder::may_give_up(int worker) const {
  return is_lost(other(*cursor(worker).offered, worker));
}

// The partner does so when it comes to it, if it does.
ReplayStep ReplayOrder::offer_alone(int worker, const DueEdge& due) {
  Cursor& c = cursor(worker);
  const DueEdge edge = due;
  const int partner = other(edge, worker);
  const double time = c.event().time;
  Alone& offers = alone_[edge.number];
  if (++offers.offers == 2 && offers.time != time)
    broken(worker, fmt::format("exchange {} is offered at {}, and at {} by worker {}", edge.number,
                               time, offers.time, partner));
  offers.time = time;
  Cursor& p = cursor(partner);
  if (offers.offers == 2 && p.state == State::at_apply && p.offered->number == edge.number) {
    p.state = State::ready;
    ready_.push_back(partner);
  }
  c.edges.pop_front();
  c.last_change = time;
  c.offered = edge;
  proceed(worker);
  return {.kind = EventKind::offer,
          .time = time,
          .worker = worker,
          .partner = partner,
          .exchange = edge.number,
          .alone = true};
}

// A run that ends by itself executes every edge that is due by then.
void ReplayOrder::check_end() {
  const double end = static_cast<double>(commits_) / workers_;
  while (schedule_.peek().due <= end) draw();
  for (int w = 0; w < workers_; ++w) {
    for (const DueEdge& edge : cursor(w).edges)
      if (edge.due <= end && !is_lost(w) && !is_lost(other(edge, w)))
        broken(w, fmt::format("exchange {} with worker {}, due at {}, is missing", edge.number,
                              other(edge, w), edge.due));
  }
}

// What was recorded of an interrupted run reaches further for some workers than for others.
bool ReplayOrder::may_break_off() const { return !complete_ && ended_ > 0; }

// Of those that wait for a partner, the one whose exchange was drawn first: what its partner waits
// for is no exchange. Null when there is none.
const ReplayOrder::Cursor* ReplayOrder::first_at_exchange() const {
  const Cursor* first = nullptr;
  for (const Cursor& c : cursors_)
    if (c.state == State::at_exchange &&
        (first == nullptr || c.edges.front().number < first->edges.front().number))
      first = &c;
  return first;
}

void ReplayOrder::stuck() const {
  const Cursor* const waits = first_at_exchange();
  if (waits != nullptr) {
    const int w = static_cast<int>(waits - cursors_.data());
    const DueEdge& edge = waits->edges.front();
    if (cursor(other(edge, w)).state != State::at_clock)
      broken(w, fmt::format("worker {} never comes to exchange {}", other(edge, w), edge.number));
  }
  for (int w = 0; w < workers_; ++w)
    if (const Cursor& c = cursor(w); c.state == State::at_apply)
      broken(w, fmt::format("exchange {} is applied, and worker {}, who was lost, never offered it",
                            c.offered->number, other(*c.offered, w)));
  if (!waiting_.empty())
    broken(waiting_.top().second,
           fmt::format("its time tells of gradients of {} workers that nobody can have committed: "
                       "{} before it, and there are {}",
                       workers_, waiting_.top().first, commits_));
  for (int w = 0; w < workers_; ++w)
    if (cursor(w).state == State::ended)
      broken(w, "the events end, and others have a mark that is missing here");
  broken(0, "nobody can go on");
}

}  // namespace acid
