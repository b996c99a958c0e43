#include "engine/drivers/replay/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace acid {
BrokenScript::BrokenScript(int worker, std::int64_t event, const std::string& what)
    : Error(fmt::format("the event log cannot be replayed at event {} of worker {}: {}", event,
                        worker, what)),
      worker_(worker),
      event_(event) {}

ReplayOrder::ReplayOrder(const RunSpec& spec, const ReplayScript& script, bool complete)
    : workers_(spec.workers),
      complete_(complete),
      shared_clock_(script.shared_clock),
      cursors_(static_cast<std::size_t>(spec.workers)),
      schedule_(*spec.topology, spec.method.rate, spec.seeds) {
  if (script.workers.size() != cursors_.size())
    throw BrokenScript(static_cast<int>(std::min(script.workers.size(), cursors_.size())), 0,
                       fmt::format("there are events of {} workers, and the run has {}",
                                   script.workers.size(), cursors_.size()));
  read_script(script);
}

void ReplayOrder::read_script(const ReplayScript& script) {
  std::int64_t total = 0;
  for (int w = 0; w < workers_; ++w) {
    Cursor& c = cursor(w);
    c.events = &script.workers[static_cast<std::size_t>(w)];
    for (std::size_t at = 0; at < c.events->size(); ++at) {
      const EventKind kind = (*c.events)[at].kind;
      if (is_commit(kind)) c.last_commit = at + 1;
      c.all_gradients += is_commit(kind) ? 1 : 0;
      c.all_halves += kind == EventKind::exchange || kind == EventKind::apply ? 1 : 0;
      c.marks += is_mark(kind) ? 1 : 0;
    }
    total += c.all_gradients;
    ready_.push_back(w);
    read_loss(w);
  }
  committed_.resize(static_cast<std::size_t>(total) + 1);
  // Where the script breaks off, others' commits may be missing that moved the clock. Beyond 2⁵³
  // commits a double no longer tells them apart.
  limit_ = (complete_ ? static_cast<double>(total) : 0x1p53) / workers_;
}

std::optional<ReplayStep> ReplayOrder::next() {
  do {
    while (!ready_.empty()) {
      const int w = ready_.front();
      ready_.pop_front();
      if (const auto step = step_of(w)) return step;
    }
  } while (break_off_clocks());
  if (at_mark_ > 0 && at_mark_ == awaited_at_mark()) return mark_step();
  if (ended_ < workers_ && !may_break_off()) stuck();
  if (complete_) check_end();
  return std::nullopt;
}

// Nothing when the worker has to wait, or has no more events.
std::optional<ReplayStep> ReplayOrder::step_of(int worker) {
  Cursor& c = cursor(worker);
  if (c.at == c.events->size()) {
    end_events(worker);
    return std::nullopt;
  }
  check_time(worker);
  if (c.lost && c.at + 1 == c.events->size()) return lost_step(worker);
  if (waits_for_commits(worker)) return std::nullopt;
  const EventKind kind = c.event().kind;
  if (is_mark(kind)) return arrive_at_mark(worker);
  if (kind == EventKind::exchange || kind == EventKind::offer) return exchange_step(worker);
  if (kind == EventKind::apply) return apply_step(worker);
  return gradient_step(worker);
}

void ReplayOrder::end_events(int worker) {
  Cursor& c = cursor(worker);
  if (complete_ && c.offered && !may_give_up(worker))
    broken(worker, fmt::format("exchange {} with worker {} was offered and is never applied",
                               c.offered->number, other(*c.offered, worker)));
  c.state = State::ended;
  ++ended_;
}

// Nothing where it waits for the others there.
std::optional<ReplayStep> ReplayOrder::arrive_at_mark(int worker) {
  Cursor& c = cursor(worker);
  if (c.offered && !may_give_up(worker))
    broken(worker,
           fmt::format("the mark '{}' comes while exchange {} with worker {} is offered "
                       "and not applied",
                       event_name(c.event().kind), c.offered->number, other(*c.offered, worker)));
  c.offered.reset();
  if (c.lost && c.marks == 0) {
    const Event mark = c.event();
    proceed(worker);
    return ReplayStep{.kind = mark.kind, .time = mark.time, .worker = worker, .alone = true};
  }
  --c.marks;
  if (c.event().kind == EventKind::measured) --c.samples;
  c.state = State::at_mark;
  ++at_mark_;
  return std::nullopt;
}

ReplayOrder::Standing ReplayOrder::standing(int worker) const {
  const Cursor& c = cursor(worker);
  return {.events = static_cast<std::int64_t>(c.at),
          .gradients = c.gradients,
          .last_change = c.last_change,
          .computing = c.in_flight && c.at < c.last_commit};
}

// Written so that a time that is not a number fails too.
void ReplayOrder::check_time(int worker) {
  Cursor& c = cursor(worker);
  const double time = c.event().time;
  if (!(time >= c.time))
    broken(worker, fmt::format("its time is {}, and that of the event before is {}", time, c.time));
  if (!(time <= limit_))
    broken(worker, fmt::format("its time is {}, and the run ends at {}", time, limit_));
}

// A worker's own clock counts the commits that it knows of. Executing an event that can be executed
// never rules out another, so if any order of the events suits all clocks, this finds one.
bool ReplayOrder::waits_for_commits(int worker) {
  if (shared_clock_ || !clocks_count_) return false;
  Cursor& c = cursor(worker);
  const Event& event = c.event();
  std::int64_t others = 0;  // that were committed before
  if (is_commit(event.kind)) {
    others = commit_number(worker) - 1;
  } else {
    others = std::llround(event.time * workers_);
    if (static_cast<double>(others) / workers_ < event.time) ++others;
  }
  if (others <= commits_) return false;
  c.state = State::at_clock;
  waiting_.push({others, worker});
  return true;
}

void ReplayOrder::wake_waiting(std::int64_t commits) {
  for (; !waiting_.empty() && waiting_.top().first <= commits; waiting_.pop()) {
    cursor(waiting_.top().second).state = State::ready;
    ready_.push_back(waiting_.top().second);
  }
}

// Where the events of some workers break off, commits are missing that others' clocks tell of.
bool ReplayOrder::break_off_clocks() {
  if (waiting_.empty() || !may_break_off()) return false;
  clocks_count_ = false;
  wake_waiting(std::numeric_limits<std::int64_t>::max());
  return true;
}

void ReplayOrder::proceed(int worker) {
  Cursor& c = cursor(worker);
  c.time = c.event().time;
  ++c.at;
  c.state = State::ready;
  ready_.push_back(worker);
}

ReplayStep ReplayOrder::gradient_step(int worker) {
  Cursor& c = cursor(worker);
  const Event& event = c.event();
  ReplayStep step{.kind = event.kind, .time = event.time, .worker = worker};
  const bool begins = event.kind == EventKind::begin_gradient;
  if (!begins && !is_commit(event.kind))
    broken(worker, fmt::format("this kind of event ({}) does not happen in asynchronous runs",
                               event_name(event.kind)));
  if (begins && c.in_flight)
    broken(worker, "a gradient begins, and the one before has not been committed");
  if (!begins) {
    if (!c.in_flight) broken(worker, "a gradient is committed, and none has begun");
    step.gradient = commit_number(worker);
    if (static_cast<std::size_t>(step.gradient) < committed_.size())
      committed_[static_cast<std::size_t>(step.gradient)] = true;
    ++commits_;
    ++c.gradients;
    wake_waiting(commits_);
  }
  c.last_change = event.time;
  c.in_flight = event.kind != EventKind::commit_gradient;
  proceed(worker);
  step.computes = c.in_flight && c.at < c.last_commit;
  return step;
}

// Clocks count commits, so the time of a commit is its number: its alone where all share a clock.
std::int64_t ReplayOrder::commit_number(int worker) const {
  const double time = cursor(worker).event().time;
  const std::int64_t number = std::llround(time * workers_);
  if ((shared_clock_ && number < 1) || static_cast<double>(number) / workers_ != time)
    broken(worker, fmt::format("a gradient is committed at {}, which is no multiple of 1/{}", time,
                               workers_));
  if (shared_clock_ && static_cast<std::size_t>(number) < committed_.size() &&
      committed_[static_cast<std::size_t>(number)])
    broken(worker, fmt::format("two gradients are number {} of the run", number));
  return number;
}

// An exchange or its offers: both partners meet here.
std::optional<ReplayStep> ReplayOrder::exchange_step(int worker) {
  Cursor& c = cursor(worker);
  const EventKind kind = c.event().kind;
  const double time = c.event().time;
  if (c.offered && !may_give_up(worker))
    broken(worker, fmt::format("another exchange comes ({}), and exchange {} with worker {} is "
                               "offered and not applied",
                               event_name(kind), c.offered->number, other(*c.offered, worker)));
  const DueEdge edge = due_edge(worker);
  const int partner = other(edge, worker);
  Cursor& p = cursor(partner);
  if (kind == EventKind::offer && (c.lost || p.lost)) return offer_alone(worker, edge);
  // The drawn list is one order, so a partner that waits at an exchange of ours waits at this one.
  if (p.state != State::at_exchange || p.edges.front().number != edge.number) {
    c.state = State::at_exchange;
    return std::nullopt;
  }
  if (p.event().time != time || p.event().kind != kind)
    broken(worker, fmt::format("exchange {} is '{}' at {}, and '{}' at {} for worker {}",
                               edge.number, event_name(kind), time, event_name(p.event().kind),
                               p.event().time, partner));
  for (const int w : {edge.i, edge.j}) {
    Cursor& own = cursor(w);
    own.edges.pop_front();
    own.last_change = time;
    own.offered.reset();
    if (kind == EventKind::offer) own.offered = edge;
    if (kind == EventKind::exchange) ++own.halves;
    proceed(w);
  }
  if (kind == EventKind::exchange) halves_ += 2;
  return ReplayStep{
      .kind = kind, .time = time, .worker = edge.i, .partner = edge.j, .exchange = edge.number};
}

// Nothing while the partner's offer is missing.
std::optional<ReplayStep> ReplayOrder::apply_step(int worker) {
  Cursor& c = cursor(worker);
  const Event& event = c.event();
  if (!c.offered) broken(worker, "an exchange is applied (apply), and none has been offered");
  const DueEdge edge = *c.offered;
  if ((edge.number & kExchangeMask) != (event.exchange & kExchangeMask))
    broken(worker, fmt::format("the exchange that is offered and not applied is {} with worker {}, "
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
  proceed(worker);
  return ReplayStep{.kind = EventKind::apply,
                    .time = time,
                    .worker = worker,
                    .partner = other(edge, worker),
                    .exchange = edge.number,
                    .alone = alone != alone_.end()};
}

// The edge that the worker's event, an exchange, must be.
const DueEdge& ReplayOrder::due_edge(int worker) {
  Cursor& c = cursor(worker);
  const Event& event = c.event();
  const auto is_other = [&](const DueEdge& edge) {
    return (edge.number & kExchangeMask) != (event.exchange & kExchangeMask);
  };
  // Of those with a worker who is lost some may be left out.
  while (true) {
    while (c.edges.empty() && schedule_.peek().due <= event.time) draw();
    if (c.edges.empty() || !is_other(c.edges.front()) || !is_lost(other(c.edges.front(), worker)))
      break;
    c.edges.pop_front();
  }
  if (c.edges.empty() || c.edges.front().due > event.time)
    broken(worker, fmt::format("no exchange of this worker is due at {}", event.time));
  const DueEdge& edge = c.edges.front();
  if (is_other(edge))
    broken(worker, fmt::format("the next exchange of this worker in the drawn list is {} with "
                               "worker {}, not one that ends in the bits {:#x}",
                               edge.number, other(edge, worker), event.exchange & kExchangeMask));
  return edge;
}

void ReplayOrder::draw() {
  const DueEdge edge = schedule_.pop();
  cursor(edge.i).edges.push_back(edge);
  cursor(edge.j).edges.push_back(edge);
}

ReplayStep ReplayOrder::mark_step() {
  const Event mark = cursor(0).event();
  absent_.assign(cursors_.size(), false);
  commits_at_mark_ = halves_at_mark_ = 0;
  for (int w = 0; w < workers_; ++w) {
    const Cursor& c = cursor(w);
    const bool absent = c.state != State::at_mark;
    absent_[static_cast<std::size_t>(w)] = absent;
    commits_at_mark_ += absent ? c.all_gradients : c.gradients;
    halves_at_mark_ += absent ? c.all_halves : c.halves;
    if (absent) continue;
    const Event& own = c.event();
    if (own.kind != mark.kind || own.time != mark.time)
      broken(w, fmt::format("the mark is '{}' at {}, and '{}' at {} for worker 0",
                            event_name(own.kind), own.time, event_name(mark.kind), mark.time));
  }
  if (shared_clock_ && mark.time != static_cast<double>(commits_) / workers_)
    broken(0, fmt::format("the mark '{}' is at {}, and {} gradients of {} workers were committed",
                          event_name(mark.kind), mark.time, commits_, workers_));
  if (mark.time != std::round(mark.time * workers_) / workers_)
    broken(0, fmt::format("the mark '{}' is at {}, which is no multiple of 1/{}",
                          event_name(mark.kind), mark.time, workers_));
  at_mark_ = 0;
  for (int w = 0; w < workers_; ++w)
    if (!absent_[static_cast<std::size_t>(w)]) proceed(w);
  return {.kind = mark.kind, .time = mark.time};
}

void ReplayOrder::broken(int worker, const std::string& what) const {
  throw BrokenScript(worker, static_cast<std::int64_t>(cursor(worker).at), what);
}

}  // namespace acid
