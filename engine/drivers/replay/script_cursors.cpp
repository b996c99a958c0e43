#include "engine/drivers/replay/script_cursors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace acid {

BrokenScript::BrokenScript(int worker, std::int64_t event, const std::string& what)
    : Error(fmt::format("the event log cannot be replayed at event {} of worker {}: {}", event,
                        worker, what)),
      worker_(worker),
      event_(event) {}

ScriptCursors::ScriptCursors(int workers, const ReplayScript& script)
    : cursors_(static_cast<std::size_t>(workers)) {
  if (script.workers.size() != cursors_.size())
    throw BrokenScript(static_cast<int>(std::min(script.workers.size(), cursors_.size())), 0,
                       fmt::format("there are events of {} workers, and the run has {}",
                                   script.workers.size(), cursors_.size()));
  for (int w = 0; w < workers; ++w) {
    Cursor& c = at(w);
    c.events = &script.workers[static_cast<std::size_t>(w)];
    for (std::size_t index = 0; index < c.events->size(); ++index) {
      const EventKind kind = (*c.events)[index].kind;
      if (is_commit(kind) || kind == EventKind::offer) c.last_use = index + 1;
      c.all_gradients += is_commit(kind) ? 1 : 0;
      c.all_halves += kind == EventKind::exchange || kind == EventKind::apply ? 1 : 0;
      c.marks += is_mark(kind) ? 1 : 0;
    }
    ready_.push_back(w);
    read_loss(w, script.shared_clock);
  }
}

// The last event of a worker that was lost while the others went on. Only workers with clocks of
// their own can be lost, and never worker 0, whose process is rank 0.
void ScriptCursors::read_loss(int worker, bool shared_clock) {
  Cursor& c = at(worker);
  c.lost =
      !shared_clock && worker > 0 && !c.events->empty() && c.events->back().kind == EventKind::lost;
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

std::int64_t ScriptCursors::gradients() const {
  std::int64_t total = 0;
  for (const Cursor& c : cursors_) total += c.all_gradients;
  return total;
}

ScriptCursors::Standing ScriptCursors::standing(int worker) const {
  const Cursor& c = at(worker);
  return {.events = static_cast<std::int64_t>(c.at),
          .gradients = c.gradients,
          .last_change = c.last_change,
          .computing = c.in_flight && c.at < c.last_use};
}

std::optional<int> ScriptCursors::next_turn() {
  if (ready_.empty()) return std::nullopt;
  const int worker = ready_.front();
  ready_.pop_front();
  return worker;
}

void ScriptCursors::wake(int worker) {
  at(worker).state = State::ready;
  ready_.push_back(worker);
}

void ScriptCursors::proceed(int worker) {
  Cursor& c = at(worker);
  c.time = c.event().time;
  ++c.at;
  wake(worker);
}

void ScriptCursors::broken(int worker, const std::string& what) const {
  throw BrokenScript(worker, static_cast<std::int64_t>(at(worker).at), what);
}

}  // namespace acid
