#include "engine/drivers/replay/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace acid {

ReplayOrder::ReplayOrder(const RunSpec& spec, const ReplayScript& script, bool complete)
    : complete_(complete),
      workers_(spec.workers, script),
      clocks_(workers_, script.shared_clock, complete),
      schedule_(*spec.topology, spec.method.rate, spec.seeds) {
  if (spec.method.has_server()) arrivals_.emplace(spec, workers_, clocks_);
}

std::optional<ReplayStep> ReplayOrder::next() {
  do {
    while (const auto w = workers_.next_turn())
      if (const auto step = step_of(*w)) return step;
  } while ((arrivals_ && arrivals_->let_go()) || (may_break_off() && clocks_.break_off()));
  if (at_mark_ > 0 && at_mark_ == awaited_at_mark()) return mark_step();
  if (ended_ < workers_.size() && !may_break_off()) stuck();
  if (complete_) check_end();
  return std::nullopt;
}

// Returns nothing if the worker must wait or has no more events.
std::optional<ReplayStep> ReplayOrder::step_of(int worker) {
  Cursor& c = workers_.at(worker);
  if (c.at == c.events->size()) {
    end_events(worker);
    return std::nullopt;
  }
  clocks_.check_time(worker);
  if (c.lost && c.at + 1 == c.events->size()) return lost_step(worker);
  const EventKind kind = c.event().kind;
  if (arrivals_ && !is_mark(kind)) return arrivals_->step_of(worker);
  if (clocks_.waits(worker)) return std::nullopt;
  if (is_mark(kind)) return arrive_at_mark(worker);
  if (kind == EventKind::exchange || kind == EventKind::offer) return exchange_step(worker);
  if (kind == EventKind::apply) return apply_step(worker);
  return gradient_step(worker);
}

void ReplayOrder::end_events(int worker) {
  Cursor& c = workers_.at(worker);
  if (complete_ && c.offered && !may_give_up(worker))
    workers_.broken(worker,
                    fmt::format("exchange {} with worker {} was offered and is never applied",
                                c.offered->number, other(*c.offered, worker)));
  c.state = State::ended;
  ++ended_;
}

// Returns nothing if the worker waits for the others at the mark.
std::optional<ReplayStep> ReplayOrder::arrive_at_mark(int worker) {
  Cursor& c = workers_.at(worker);
  if (c.offered && !may_give_up(worker))
    workers_.broken(
        worker,
        fmt::format("the mark '{}' comes while exchange {} with worker {} is offered "
                    "and not applied",
                    event_name(c.event().kind), c.offered->number, other(*c.offered, worker)));
  c.offered.reset();
  if (c.lost && c.marks == 0) {
    const Event mark = c.event();
    workers_.proceed(worker);
    return ReplayStep{.kind = mark.kind, .time = mark.time, .worker = worker, .alone = true};
  }
  --c.marks;
  if (c.event().kind == EventKind::measured) --c.samples;
  c.state = State::at_mark;
  ++at_mark_;
  return std::nullopt;
}

ReplayStep ReplayOrder::gradient_step(int worker) {
  Cursor& c = workers_.at(worker);
  const Event& event = c.event();
  ReplayStep step{.kind = event.kind, .time = event.time, .worker = worker};
  const bool begins = event.kind == EventKind::begin_gradient;
  if (!begins && !is_commit(event.kind))
    workers_.broken(worker,
                    fmt::format("this kind of event ({}) does not happen in asynchronous runs",
                                event_name(event.kind)));
  if (begins && c.in_flight)
    workers_.broken(worker, "a gradient begins, and the one before has not been committed");
  if (!begins) {
    if (!c.in_flight) workers_.broken(worker, "a gradient is committed, and none has begun");
    step.gradient = clocks_.number(worker);
    clocks_.commit(step.gradient);
    ++c.gradients;
  }
  c.last_change = event.time;
  c.in_flight = event.kind != EventKind::commit_gradient;
  workers_.proceed(worker);
  step.computes = c.in_flight && c.at < c.last_use;
  return step;
}

// An exchange or its offers: both partners meet here.
std::optional<ReplayStep> ReplayOrder::exchange_step(int worker) {
  Cursor& c = workers_.at(worker);
  const EventKind kind = c.event().kind;
  const double time = c.event().time;
  if (c.offered && !may_give_up(worker))
    workers_.broken(worker,
                    fmt::format("another exchange comes ({}), and exchange {} with worker {} is "
                                "offered and not applied",
                                event_name(kind), c.offered->number, other(*c.offered, worker)));
  const DueEdge edge = due_edge(worker);
  const int partner = other(edge, worker);
  Cursor& p = workers_.at(partner);
  if (kind == EventKind::offer && (c.lost || p.lost)) return offer_alone(worker, edge);
  // The drawn list is one order, so a partner that waits at one of our exchanges waits at this one.
  if (p.state != State::at_exchange || p.edges.front().number != edge.number) {
    c.state = State::at_exchange;
    return std::nullopt;
  }
  if (p.event().time != time || p.event().kind != kind)
    workers_.broken(worker, fmt::format("exchange {} is '{}' at {}, and '{}' at {} for worker {}",
                                        edge.number, event_name(kind), time,
                                        event_name(p.event().kind), p.event().time, partner));
  for (const int w : {edge.i, edge.j}) {
    Cursor& own = workers_.at(w);
    own.edges.pop_front();
    own.last_change = time;
    own.offered.reset();
    if (kind == EventKind::offer) own.offered = edge;
    if (kind == EventKind::exchange) ++own.halves;
    workers_.proceed(w);
  }
  if (kind == EventKind::exchange) halves_ += 2;
  return ReplayStep{
      .kind = kind, .time = time, .worker = edge.i, .partner = edge.j, .exchange = edge.number};
}

// Returns nothing while the partner's offer is missing.
std::optional<ReplayStep> ReplayOrder::apply_step(int worker) {
  Cursor& c = workers_.at(worker);
  const Event& event = c.event();
  if (!c.offered)
    workers_.broken(worker, "an exchange is applied (apply), and none has been offered");
  const DueEdge edge = *c.offered;
  if ((edge.number & kExchangeMask) != (event.exchange & kExchangeMask))
    workers_.broken(
        worker, fmt::format("the exchange that is offered and not applied is {} with worker {}, "
                            "not one that ends in the bits {:#x}",
                            edge.number, other(edge, worker), event.exchange & kExchangeMask));
  const auto alone = alone_.find(edge.number);
  if (alone != alone_.end() && alone->second.offers < 2) {
    c.state = State::at_apply;
    return std::nullopt;
  }
  const double time = event.time;
  c.offered.reset();
  c.last_change = time;
  ++c.halves;
  ++halves_;
  workers_.proceed(worker);
  return ReplayStep{.kind = EventKind::apply,
                    .time = time,
                    .worker = worker,
                    .partner = other(edge, worker),
                    .exchange = edge.number,
                    .alone = alone != alone_.end()};
}

// The edge of the worker's event, an exchange.
const DueEdge& ReplayOrder::due_edge(int worker) {
  Cursor& c = workers_.at(worker);
  const Event& event = c.event();
  const auto is_other = [&](const DueEdge& edge) {
    return (edge.number & kExchangeMask) != (event.exchange & kExchangeMask);
  };
  // Exchanges with a lost worker may be left out.
  while (true) {
    while (c.edges.empty() && schedule_.peek().due <= event.time) draw();
    if (c.edges.empty() || !is_other(c.edges.front()) || !is_lost(other(c.edges.front(), worker)))
      break;
    c.edges.pop_front();
  }
  if (c.edges.empty() || c.edges.front().due > event.time)
    workers_.broken(worker, fmt::format("no exchange of this worker is due at {}", event.time));
  const DueEdge& edge = c.edges.front();
  if (is_other(edge))
    workers_.broken(worker,
                    fmt::format("the next exchange of this worker in the drawn list is {} with "
                                "worker {}, not one that ends in the bits {:#x}",
                                edge.number, other(edge, worker), event.exchange & kExchangeMask));
  return edge;
}

void ReplayOrder::draw() {
  const DueEdge edge = schedule_.pop();
  workers_.at(edge.i).edges.push_back(edge);
  workers_.at(edge.j).edges.push_back(edge);
}

ReplayStep ReplayOrder::mark_step() {
  const Event mark = workers_.at(0).event();
  mark_ = {};
  std::int64_t halves = 0;
  for (int w = 0; w < workers_.size(); ++w) {
    const Cursor& c = workers_.at(w);
    const bool absent = c.state != State::at_mark;
    mark_.absent.push_back(absent);
    mark_.commits += absent ? c.all_gradients : c.gradients;
    halves += absent ? c.all_halves : c.halves;
    if (absent) continue;
    const Event& own = c.event();
    if (own.kind != mark.kind || own.time != mark.time)
      workers_.broken(
          w, fmt::format("the mark is '{}' at {}, and '{}' at {} for worker 0",
                         event_name(own.kind), own.time, event_name(mark.kind), mark.time));
  }
  if (clocks_.shared() && mark.time != static_cast<double>(clocks_.commits()) / workers_.size())
    workers_.broken(
        0, fmt::format("the mark '{}' is at {}, and {} gradients of {} workers were committed",
                       event_name(mark.kind), mark.time, clocks_.commits(), workers_.size()));
  if (mark.time != std::round(mark.time * workers_.size()) / workers_.size())
    workers_.broken(0, fmt::format("the mark '{}' is at {}, which is no multiple of 1/{}",
                                   event_name(mark.kind), mark.time, workers_.size()));
  mark_.exchanges = halves / 2;
  at_mark_ = 0;
  for (int w = 0; w < workers_.size(); ++w)
    if (!mark_.absent[static_cast<std::size_t>(w)]) workers_.proceed(w);
  return {.kind = mark.kind, .time = mark.time};
}

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
