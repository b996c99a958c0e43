#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/drivers/replay/arrivals.hpp"
#include "engine/drivers/replay/commit_clocks.hpp"
#include "engine/drivers/replay/replay.hpp"
#include "engine/drivers/replay/script_cursors.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// Brings the events of all workers into one order that respects that of each worker, the meeting
/// of partners and the marks, and checks that a run may have done them: state machines and clocks
/// as in docs/SEMANTICS.md, every exchange the next of both its workers in the drawn list. Where
/// workers have clocks of their own, an event comes once as many gradients are committed as its
/// time says; a script for which no order allows that is broken. A worker whose events end with
/// `lost` is at no later mark; exchanges with it may be left out, or offered and not applied, and
/// both partners offer without a meeting. Where the method has a server the order is that of
/// Arrivals. O(log n) per event without the drawing of edges. Not thread-safe.
class ReplayOrder {
 public:
  /// The arguments outlive this. `complete`: the script has the whole run; otherwise the workers'
  /// events may break off anywhere, and the order ends where no worker can go on.
  ReplayOrder(const RunSpec& spec, const ReplayScript& script, bool complete);

  /// Returns nothing at the end of the script. Throws BrokenScript.
  std::optional<ReplayStep> next();

  std::int64_t commits() const { return clocks_.commits(); }  // so far, of all workers
  /// Each exchange is applied by two workers, or is an arrival at the server.
  std::int64_t exchanges() const { return arrivals_ ? arrivals_->count() : halves_ / 2; }
  /// The last mark. For a lost worker that is absent from it, all its events count.
  struct AllAtMark {
    std::int64_t commits = 0, exchanges = 0;
    std::vector<bool> absent;  // by worker: not at the mark
  };
  const AllAtMark& last_mark() const { return mark_; }
  bool is_lost(int worker) const { return workers_.at(worker).lost; }
  /// Whether a later sample contains what this worker does now.
  bool is_noted(int worker) const {
    return !workers_.at(worker).lost || workers_.at(worker).samples > 0;
  }
  using Standing = ScriptCursors::Standing;
  Standing standing(int worker) const { return workers_.standing(worker); }

 private:
  using State = ScriptCursors::State;
  using Cursor = ScriptCursors::Cursor;
  std::optional<ReplayStep> step_of(int worker);
  void end_events(int worker);
  ReplayStep lost_step(int worker);
  std::optional<ReplayStep> arrive_at_mark(int worker);
  int awaited_at_mark() const;
  bool may_give_up(int worker) const;
  ReplayStep offer_alone(int worker, const DueEdge& edge);
  ReplayStep gradient_step(int worker);
  std::optional<ReplayStep> exchange_step(int worker);
  std::optional<ReplayStep> apply_step(int worker);
  const DueEdge& due_edge(int worker);
  void draw();
  ReplayStep mark_step();
  void check_end();
  bool may_break_off() const;
  const Cursor* first_at_exchange() const;
  [[noreturn]] void stuck() const;

  static int other(const DueEdge& edge, int worker) { return edge.i == worker ? edge.j : edge.i; }

  const bool complete_;
  ScriptCursors workers_;
  CommitClocks clocks_;
  EdgeSchedule schedule_;
  std::optional<Arrivals> arrivals_;  // where there is a server
  int at_mark_ = 0, ended_ = 0;       // workers
  std::int64_t halves_ = 0;
  AllAtMark mark_;
  /// Offers that were made alone, by the edge's number.
  struct Alone {
    double time = 0;
    int offers = 0;
  };
  std::map<std::uint64_t, Alone> alone_;
};

}  // namespace acid
