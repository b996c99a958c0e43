#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/drivers/replay/replay.hpp"
#include "engine/recorder/event.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// The next step of a script: an event of one worker, an exchange or the offers of two, or a mark
/// that all of them have reached.
struct ReplayStep {
  EventKind kind = EventKind::begin_gradient;
  double time = 0;
  int worker = 0;   // not for marks; the lower one for exchanges and offers
  int partner = 0;  // for exchange and offer
  /// exchange, offer, apply: the edge's number in the drawn list, or the message's at the server
  std::uint64_t exchange = 0;
  /// commits: the number of commits by its clock, this one included; offers to a server: that
  /// number of the worker's last gradient, 0 before its first
  std::int64_t gradient = 0;
  /// with a server: the staleness of the gradient (commits) or of the message (offers), which is
  /// how many messages arrived since the worker's last
  std::int64_t staleness = 0;
  bool computes = false;  // a gradient begins here that the script commits later
  /// offer, apply: by this worker alone, because it or its partner is lost later. measured,
  /// checkpoint: only in the log of this worker, which was lost before the mark was taken.
  bool alone = false;
};

/// How far each worker is in a script, and whose turn it is. A ready worker gets a turn; a waiting
/// one gets none until it is woken.
class ScriptCursors {
 public:
  enum class State { ready, at_clock, at_exchange, at_apply, at_mark, ended };
  struct Cursor {
    const std::vector<Event>* events = nullptr;
    std::size_t at = 0;
    std::size_t last_use = 0;  // of a gradient: 1 + index of its commit or of what may say it; 0
    State state = State::ready;
    bool in_flight = false;  // a gradient
    std::int64_t gradients = 0;
    std::int64_t halves = 0;                         // exchanges applied
    std::int64_t all_gradients = 0, all_halves = 0;  // in the whole script
    bool lost = false;
    std::int64_t marks = 0, samples = 0;  // still to come, of a lost worker, before its end
    double time = 0, last_change = 0;
    std::deque<DueEdge> edges;       // drawn, not executed
    std::optional<DueEdge> offered;  // offered, not applied
    const Event& event() const { return (*events)[at]; }
  };
  /// A worker's state between two steps.
  struct Standing {
    std::int64_t events = 0;  // executed
    std::int64_t gradients = 0;
    double last_change = 0;  // when a gradient or an exchange last changed or mixed its x
    bool computing = false;  // a gradient is in flight that the script says or commits later
  };

  /// The script outlives this. Throws BrokenScript.
  ScriptCursors(int workers, const ReplayScript& script);

  int size() const { return static_cast<int>(cursors_.size()); }
  Cursor& at(int worker) { return cursors_[static_cast<std::size_t>(worker)]; }
  const Cursor& at(int worker) const { return cursors_[static_cast<std::size_t>(worker)]; }
  const std::vector<Cursor>& all() const { return cursors_; }
  std::int64_t gradients() const;  // of all, in the whole script
  Standing standing(int worker) const;

  /// The worker whose turn it is. Workers take turns, one event each, so that all advance together.
  /// Nothing if no worker is ready.
  std::optional<int> next_turn();
  /// The worker need not wait any more.
  void wake(int worker);
  /// The worker's event has been executed.
  void proceed(int worker);
  [[noreturn]] void broken(int worker, const std::string& what) const;

 private:
  void read_loss(int worker, bool shared_clock);

  std::vector<Cursor> cursors_;
  std::deque<int> ready_;
};

}  // namespace acid
