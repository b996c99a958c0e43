#include "engine/drivers/replay/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace acid {
namespace {

EventKind event_of(Phase phase) {
  switch (phase) {
    case Phase::gradient:
      return EventKind::begin_gradient;
    case Phase::step:
      return EventKind::commit_gradient;
    case Phase::say:
      return EventKind::offer;
    case Phase::hear:
      break;
  }
  return EventKind::apply;
}

}  // namespace

std::optional<ReplayStep> Arrivals::step_of(int worker) {
  ScriptCursors::Cursor& c = workers_.at(worker);
  Walk& at = walks_[static_cast<std::size_t>(worker)];
  const Event event = c.event();
  const Leg& leg = spec_.method.round_of(worker).leg(at.leg);
  const Phase phase = leg[static_cast<std::size_t>(at.phase)];
  if (event.kind != event_of(phase))
    workers_.broken(worker, fmt::format("it is '{}', and in its round comes '{}'",
                                        event_name(event.kind), event_name(event_of(phase))));
  ReplayStep step{.kind = event.kind, .time = event.time, .worker = worker};
  switch (phase) {
    case Phase::gradient:
      c.in_flight = true;
      break;
    case Phase::step:
      step.gradient = clocks_.number(worker);
      step.staleness = static_cast<std::int64_t>(event.exchange & kExchangeMask);
      clocks_.commit(step.gradient);
      ++c.gradients;
      c.in_flight = false;
      break;
    case Phase::say:
      if (!arrive(worker, step)) return std::nullopt;
      break;
    case Phase::hear:
      step.exchange = static_cast<std::uint64_t>(at.arrival);
  }
  at.has_gradient = at.has_gradient || phase == Phase::gradient;
  if (++at.phase == static_cast<std::int64_t>(leg.size()))
    at = {at.leg + 1, 0, at.arrival, at.has_gradient};
  c.last_change = event.time;
  workers_.proceed(worker);
  step.computes = phase == Phase::gradient && c.at < c.last_use;
  return step;
}

// The highest bits are in the apply that follows, if the events reach it.
std::optional<std::uint64_t> Arrivals::number_of(const ScriptCursors::Cursor& offer) {
  const auto rest = std::span(*offer.events).subspan(offer.at);
  const auto apply = std::ranges::find(rest, EventKind::apply, &Event::kind);
  if (apply == rest.end()) return std::nullopt;
  return (apply->exchange & kExchangeMask) << kExchangeBits |
         (offer.event().exchange & kExchangeMask);
}

bool Arrivals::let_go() {
  const auto fits = [&](int worker) {
    const std::uint64_t next = static_cast<std::uint64_t>(count_) + 1;
    return ((workers_.at(worker).event().exchange ^ next) & kExchangeMask) == 0;
  };
  const auto found = std::ranges::find_if(unnumbered_, fits);
  if (found == unnumbered_.end()) return false;
  let_go_ = *found;
  unnumbered_.erase(found);
  workers_.wake(let_go_);
  return true;
}

// Returns false if it is not the worker's turn.
bool Arrivals::arrive(int worker, ReplayStep& step) {
  constexpr std::uint64_t kKnown = kExchangeMask << kExchangeBits | kExchangeMask;
  ScriptCursors::Cursor& c = workers_.at(worker);
  Walk& at = walks_[static_cast<std::size_t>(worker)];
  const auto next_number = [&] { return (static_cast<std::uint64_t>(count_) + 1) & kKnown; };
  const std::optional<std::uint64_t> number = number_of(c);
  if (number ? *number != next_number() : let_go_ != worker) {
    c.state = ScriptCursors::State::at_exchange;
    if (!number) {
      unnumbered_.push_back(worker);
      return false;
    }
    const auto [other, is_first] = waiting_.try_emplace(*number, worker);
    if (!is_first)
      workers_.broken(worker, fmt::format("two messages arrive at the server as number {}, the "
                                          "other is of worker {}",
                                          *number, other->second));
    return false;
  }
  let_go_ = -1;
  step.exchange = static_cast<std::uint64_t>(++count_);
  at.arrival = count_;
  if (at.has_gradient) step.gradient = std::llround(step.time * workers_.size());
  c.halves += 2;
  if (const auto next = waiting_.find(next_number()); next != waiting_.end()) {
    workers_.wake(next->second);
    waiting_.erase(next);
  }
  return true;
}

}  // namespace acid
