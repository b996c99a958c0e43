// How the events of a replay end: with the run, before it, or before those of other workers.
#include <fmt/format.h>

#include <algorithm>

#include "engine/drivers/replay/order.hpp"

namespace acid {

ReplayStep ReplayOrder::lost_step(int worker) {
  Cursor& c = workers_.at(worker);
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
  return static_cast<int>(std::ranges::count_if(workers_.all(), [](const Cursor& c) {
    return !c.lost || c.marks > 0 || c.state == State::at_mark;
  }));
}

// Whether the worker may leave its offer unapplied.
bool ReplayOrder::may_give_up(int worker) const {
  return is_lost(other(*workers_.at(worker).offered, worker));
}

// The partner does the same if it reaches the exchange.
ReplayStep ReplayOrder::offer_alone(int worker, const DueEdge& due) {
  Cursor& c = workers_.at(worker);
  const DueEdge edge = due;
  const int partner = other(edge, worker);
  const double time = c.event().time;
  Alone& offers = alone_[edge.number];
  if (++offers.offers == 2 && offers.time != time)
    workers_.broken(worker, fmt::format("exchange {} is offered at {}, and at {} by worker {}",
                                        edge.number, time, offers.time, partner));
  offers.time = time;
  Cursor& p = workers_.at(partner);
  if (offers.offers == 2 && p.state == State::at_apply && p.offered->number == edge.number) {
    workers_.wake(partner);
  }
  c.edges.pop_front();
  c.last_change = time;
  c.offered = edge;
  workers_.proceed(worker);
  return {.kind = EventKind::offer,
          .time = time,
          .worker = worker,
          .partner = partner,
          .exchange = edge.number,
          .alone = true};
}

// A run that ends by itself executes every edge that is due by its end.
void ReplayOrder::check_end() {
  const double end = static_cast<double>(clocks_.commits()) / workers_.size();
  while (schedule_.peek().due <= end) draw();
  for (int w = 0; w < workers_.size(); ++w) {
    for (const DueEdge& edge : workers_.at(w).edges)
      if (edge.due <= end && !is_lost(w) && !is_lost(other(edge, w)))
        workers_.broken(w, fmt::format("exchange {} with worker {}, due at {}, is missing",
                                       edge.number, other(edge, w), edge.due));
  }
}

// The record of an interrupted run reaches further for some workers than for others.
bool ReplayOrder::may_break_off() const { return !complete_ && ended_ > 0; }

// The worker with the first drawn exchange among those that wait for a partner; the partner does
// not wait for an exchange. Null if no worker waits.
const ReplayOrder::Cursor* ReplayOrder::first_at_exchange() const {
  const Cursor* first = nullptr;
  for (const Cursor& c : workers_.all())
    if (c.state == State::at_exchange && !c.edges.empty() &&
        (first == nullptr || c.edges.front().number < first->edges.front().number))
      first = &c;
  return first;
}

void ReplayOrder::stuck() const {
  const Cursor* const waits = first_at_exchange();
  if (waits != nullptr) {
    const int w = static_cast<int>(waits - workers_.all().data());
    const DueEdge& edge = waits->edges.front();
    if (workers_.at(other(edge, w)).state != State::at_clock)
      workers_.broken(
          w, fmt::format("worker {} never comes to exchange {}", other(edge, w), edge.number));
  }
  for (int w = 0; w < workers_.size(); ++w)
    if (const Cursor& c = workers_.at(w); c.state == State::at_apply)
      workers_.broken(
          w, fmt::format("exchange {} is applied, and worker {}, who was lost, never offered it",
                         c.offered->number, other(*c.offered, w)));
  for (int w = 0; w < workers_.size(); ++w)
    if (workers_.at(w).state == State::at_exchange && arrivals_)
      workers_.broken(w, fmt::format("what it says does not arrive at the server: nobody's arrival "
                                     "is number {}",
                                     arrivals_->count() + 1));
  if (const CommitClocks::Waiting* const first = clocks_.first_waiting())
    workers_.broken(
        first->second,
        fmt::format("its time tells of gradients of {} workers that nobody can have committed: "
                    "{} before it, and there are {}",
                    workers_.size(), first->first, clocks_.commits()));
  for (int w = 0; w < workers_.size(); ++w)
    if (workers_.at(w).state == State::ended)
      workers_.broken(w, "the events end, and others have a mark that is missing here");
  workers_.broken(0, "nobody can go on");
}

}  // namespace acid
