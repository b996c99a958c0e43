#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "engine/drivers/replay/replay.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// The next thing that a script asks for: an event of one worker, an exchange or the offers of two,
/// or a mark that all of them have reached.
struct ReplayStep {
  EventKind kind = EventKind::begin_gradient;
  double time = 0;
  int worker = 0;              // not of marks; of an exchange and of offers the lower one
  int partner = 0;             // of exchange and offer
  std::uint64_t exchange = 0;  // of exchange, offer, apply: the edge's number in the drawn list
  std::int64_t gradient = 0;   // of commits: how many there were by its clock, this one included
  bool computes = false;       // a gradient begins here that the script commits later
  /// offer, apply: of this worker by itself, because it or its partner is lost later. measured,
  /// checkpoint: in the log of this worker only, which was lost before the mark was taken.
  bool alone = false;
};

/// Brings the events of all workers into one order that respects that of each worker, the meeting
/// of partners and the marks, and makes sure that they are what a run may have done: state machines
/// and clocks as docs/SEMANTICS.md has them, every exchange the next of both its workers in the
/// drawn list. Where workers have clocks of their own, an event comes once as many gradients are
/// committed as its time tells of; a script for which no order allows that is broken. A worker
/// whose events end with `lost` is at no later mark; exchanges with it may be left out, or offered
/// and not applied, and both partners offer when they come to it, without a meeting. O(log n) per
/// event besides the drawing of edges. Not thread-safe.
class ReplayOrder {
 public:
  /// Both outlive it. `complete`: the script tells the whole run; otherwise the workers' events may
  /// break off anywhere, and the order ends where no worker can go on.
  ReplayOrder(const RunSpec& spec, const ReplayScript& script, bool complete);

  /// Nothing at the end of the script. Throws BrokenScript.
  std::optional<ReplayStep> next();

  std::int64_t commits() const { return commits_; }       // so far, of all workers
  std::int64_t exchanges() const { return halves_ / 2; }  // each has two workers who apply it
  /// At the last mark. Of lost workers that had no part in it, all that they ever did counts.
  std::int64_t commits_at_mark() const { return commits_at_mark_; }
  std::int64_t exchanges_at_mark() const { return halves_at_mark_ / 2; }
  /// By worker: not there.
  const std::vector<bool>& absent_at_mark() const { return absent_; }
  bool is_lost(int worker) const { return cursor(worker).lost; }
  /// A sample comes that tells of what this worker does now.
  bool is_noted(int worker) const { return !cursor(worker).lost || cursor(worker).samples > 0; }

  /// Where a worker stands between two steps.
  struct Standing {
    std::int64_t events = 0;  // executed
    std::int64_t gradients = 0;
    double last_change = 0;  // when a gradient or an exchange changed its x or mixed it
    bool computing = false;  // a gradient is in flight that the script commits later
  };
  Standing standing(int worker) const;

 private:
  enum class State { ready, at_clock, at_exchange, at_apply, at_mark, ended };
  struct Cursor {
    const std::vector<Event>* events = nullptr;
    std::size_t at = 0, last_commit = 0;  // last_commit: index + 1; 0 when there is none
    State state = State::ready;
    bool in_flight = false;  // a gradient
    std::int64_t gradients = 0;
    std::int64_t halves = 0;                         // exchanges applied
    std::int64_t all_gradients = 0, all_halves = 0;  // in the whole script
    bool lost = false;
    std::int64_t marks = 0, samples = 0;  // to come, of a lost worker before its end
    double time = 0, last_change = 0;
    std::deque<DueEdge> edges;       // drawn, not executed
    std::optional<DueEdge> offered;  // and not applied
    const Event& event() const { return (*events)[at]; }
  };
  std::optional<ReplayStep> step_of(int worker);
  void check_time(int worker);
  bool waits_for_commits(int worker);
  void wake_waiting(std::int64_t commits);
  bool break_off_clocks();
  void end_events(int worker);
  void read_script(const ReplayScript& script);
  void read_loss(int worker);
  ReplayStep lost_step(int worker);
  std::optional<ReplayStep> arrive_at_mark(int worker);
  int awaited_at_mark() const;
  bool may_give_up(int worker) const;
  ReplayStep offer_alone(int worker, const DueEdge& edge);
  ReplayStep gradient_step(int worker);
  std::int64_t commit_number(int worker) const;
  std::optional<ReplayStep> exchange_step(int worker);
  std::optional<ReplayStep> apply_step(int worker);
  const DueEdge& due_edge(int worker);
  void draw();
  ReplayStep mark_step();
  void check_end();
  bool may_break_off() const;
  void proceed(int worker);
  const Cursor* first_at_exchange() const;
  [[noreturn]] void stuck() const;
  [[noreturn]] void broken(int worker, const std::string& what) const;

  static int other(const DueEdge& edge, int worker) { return edge.i == worker ? edge.j : edge.i; }
  Cursor& cursor(int w) { return cursors_[static_cast<std::size_t>(w)]; }
  const Cursor& cursor(int w) const { return cursors_[static_cast<std::size_t>(w)]; }

  const int workers_;
  const bool complete_, shared_clock_;
  bool clocks_count_ = true;  // false once commits may be missing that clocks tell of
  double limit_ = 0;          // no event is later
  std::vector<Cursor> cursors_;
  EdgeSchedule schedule_;
  std::deque<int> ready_;        // in turn, one event each, so that all of them advance together
  std::vector<bool> committed_;  // by commit number, as far as the script has commits
  using Waiting = std::pair<std::int64_t, int>;  // commits that must be there, worker
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  int at_mark_ = 0, ended_ = 0;  // workers
  std::int64_t commits_ = 0, halves_ = 0;
  std::int64_t commits_at_mark_ = 0, halves_at_mark_ = 0;
  std::vector<bool> absent_;
  /// Offers that were made alone, by the edge's number.
  struct Alone {
    double time = 0;
    int offers = 0;
  };
  std::map<std::uint64_t, Alone> alone_;
};

}  // namespace acid
