#include "engine/drivers/replay/arrivals.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

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
      if ((step.exchange & kExchangeMask) != (event.exchange & kExchangeMask))
        workers_.broken(worker,
                        fmt::format("what is heard is the answer to arrival {}, not one that ends "
                                    "in the bits {:#x}",
                                    at.arrival, event.exchange & kExchangeMask));
  }
  at.has_gradient = at.has_gradient || phase == Phase::gradient;
  if (++at.phase == static_cast<std::int64_t>(leg.size()))
    at = {at.leg + 1, 0, at.arrival, at.has_gradient};
  c.last_change = event.time;
  workers_.proceed(worker);
  step.computes = phase == Phase::gradient && c.at < c.last_commit;
  return step;
}

// False where it is not its turn.
bool Arrivals::arrive(int worker, ReplayStep& step) {
  ScriptCursors::Cursor& c = workers_.at(worker);
  Walk& at = walks_[static_cast<std::size_t>(worker)];
  const auto is_next = [&](std::uint64_t number) {
    return number == (static_cast<std::uint64_t>(count_ + 1) & kExchangeMask);
  };
  const std::uint64_t number = c.event().exchange & kExchangeMask;
  if (!is_next(number)) {
    c.state = ScriptCursors::State::at_exchange;
    const auto [other, is_first] = waiting_.try_emplace(number, worker);
    if (!is_first)
      workers_.broken(worker, fmt::format("two messages arrive at the server as number {} (of {}), "
                                          "the other is of worker {}",
                                          number, kExchangeMask + 1, other->second));
    return false;
  }
  step.exchange = static_cast<std::uint64_t>(++count_);
  at.arrival = count_;
  if (at.has_gradient) step.gradient = std::llround(step.time * workers_.size());
  c.halves += 2;
  if (const auto next = waiting_.find(static_cast<std::uint64_t>(count_ + 1) & kExchangeMask);
      next != waiting_.end()) {
    workers_.wake(next->second);
    waiting_.erase(next);
  }
  return true;
}

}  // namespace acid
