#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/drivers/replay.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// The next thing that a script asks for: an event of one worker, an exchange of two, or a mark
/// that all of them have reached.
struct ReplayStep {
  EventKind kind = EventKind::begin_gradient;
  double time = 0;
  int worker = 0;              // not of marks; of an exchange the lower one
  int partner = 0;             // of exchanges
  std::uint64_t exchange = 0;  // of exchanges: the edge's number in the drawn list
  std::int64_t gradient = 0;   // of commits: how many the run had committed, this one included
  bool computes = false;       // a gradient begins here that the script commits later
};

/// Brings the events of all workers into one order that respects that of each worker, the meeting
/// of partners and the marks, and makes sure that they are what a run may have done: state machines
/// and clocks as DESIGN §3 has them, every exchange the next of both its workers in the drawn list.
/// O(1) per event besides the drawing of edges. Not thread-safe.
class ReplayOrder {
 public:
  /// Both outlive it. `complete`: the script tells the whole run; otherwise the workers' events may
  /// break off anywhere, and the order ends where nobody can go on.
  ReplayOrder(const RunSpec& spec, const ReplayScript& script, bool complete);

  /// Nothing at the end of the script. Throws BrokenScript.
  std::optional<ReplayStep> next();

  std::int64_t commits() const { return commits_; }      // so far, of all workers
  std::int64_t exchanges() const { return exchanges_; }  // so far

  /// Where a worker stands between two steps.
  struct Standing {
    std::int64_t events = 0;  // executed
    std::int64_t gradients = 0;
    double last_change = 0;  // when a gradient or an exchange changed its x
    bool computing = false;  // a gradient is in hand that the script commits later
  };
  Standing standing(int worker) const;

 private:
  enum class State { ready, at_exchange, at_mark, ended };
  struct Cursor {
    const std::vector<Event>* events = nullptr;
    std::size_t at = 0, last_commit = 0;  // last_commit: index + 1; 0 when there is none
    State state = State::ready;
    bool in_hand = false;  // a gradient
    std::int64_t gradients = 0;
    double time = 0, last_change = 0;
    std::deque<DueEdge> edges;  // drawn, not executed
    const Event& event() const { return (*events)[at]; }
  };
  void check_time(int worker);
  ReplayStep gradient_step(int worker);
  std::int64_t commit_number(int worker) const;
  std::optional<ReplayStep> exchange_step(int worker);
  const DueEdge& due_edge(int worker);
  void draw();
  ReplayStep mark_step();
  void check_end();
  bool may_break_off() const;
  void proceed(int worker);
  [[noreturn]] void stuck() const;
  [[noreturn]] void broken(int worker, const std::string& what) const;

  Cursor& cursor(int w) { return cursors_[static_cast<std::size_t>(w)]; }
  const Cursor& cursor(int w) const { return cursors_[static_cast<std::size_t>(w)]; }

  const int workers_;
  const bool complete_;
  double limit_ = 0;  // no event is later
  std::vector<Cursor> cursors_;
  EdgeSchedule schedule_;
  std::deque<int> ready_;        // in turn, one event each, so that all of them advance together
  std::vector<bool> committed_;  // by commit number, as far as the script has commits
  int at_mark_ = 0, ended_ = 0;  // workers
  std::int64_t commits_ = 0, exchanges_ = 0;
};

}  // namespace acid
