#pragma once

#include <vector>

#include "engine/run/run.hpp"

namespace acid {

/// What is to be replayed: the events of each worker in order, as recorded. Of `exchange` only the
/// bits of kExchangeMask count, and fingerprints are not looked at.
///
/// An exchange is one event `exchange` of both workers, or `offer` and later `apply` of each. The
/// offers of both have one time; gradients may begin and commit before an apply, but no mark and no
/// other exchange of that worker comes before it.
///
/// Where workers have clocks of their own, one may end with `lost`: the run went on without it. It
/// has no part in marks after its own, nor in the last `exchange` of these, nor in the end. What it
/// offered, or was offered to it, may never be applied, and later exchanges with it are left out.
struct ReplayScript {
  std::vector<std::vector<Event>> workers;
  /// Whether one clock counts the commits of all exactly (threads), so that the time of a commit is
  /// its number ÷ n. Otherwise (mpi) every worker has a clock of its own: a number of commits of
  /// all that it knows of ÷ n, which may be behind what has been committed, or stand still, but is
  /// never ahead. Numbers of commits then repeat, even those of one worker, and a mark may be
  /// earlier than commits that lie before it.
  bool shared_clock = true;
  /// With Checkpointing::resume: how many checkpoint marks of each worker lie at or before the
  /// checkpoint that is resumed from, its own included.
  int marks_before = 0;
};

/// The script cannot be executed: an event that no state machine allows, an exchange that is not
/// the next of its worker in the drawn list, a partner that never comes, a mark that is missing.
class BrokenScript : public Error {
 public:
  BrokenScript(int worker, std::int64_t event, const std::string& what);
  int worker() const { return worker_; }
  std::int64_t event() const { return event_; }  // counts the worker's events from 0

 private:
  int worker_;
  std::int64_t event_;
};

/// Executes a recorded event log in its partial order, in one process on `threads` threads (at
/// least 1; the bits do not depend on how many), and ends as the recorded run ended: with the exact
/// mean and the digests, at the time (commits of all) ÷ n. Reports the same samples and events that
/// the recorded run did, apart from wall-clock seconds and idle shares, and takes a cut (with
/// `step` = gradients committed by then) at every checkpoint mark, whatever `due` says. For
/// asynchronous methods. The objective must have as many lanes as there are threads. Waits, holds
/// and idle times are not in a log: the outcome has none.
///
/// With Checkpointing::resume it starts at that checkpoint, and what it reports does too. The first
/// sample then has no values of gradients, because some of them were before the checkpoint. The
/// state of the checkpoint must begin with Ensemble::persist: its layout is the caller's to check,
/// who knows which driver wrote it.
///
/// `complete` false: the recorded run was interrupted, and its workers' events may break off
/// anywhere; replays them as far as they lead and returns Ending::stopped.
///
/// Throws BrokenScript where it comes to what no run can have done, at the latest at the end.
Outcome run_replay(const Run& run, const ReplayScript& script, bool complete, int threads);

}  // namespace acid
