#pragma once

#include <vector>

#include "engine/run/run.hpp"

namespace acid {

/// What is to be replayed: the events of each worker in order, as recorded. Only the bits of
/// kExchangeMask of `exchange` count, and fingerprints are ignored.
///
/// An exchange is one event `exchange` of both workers, or `offer` and later `apply` of each. The
/// offers of both have one time; gradients may begin and commit before an apply, but no mark and no
/// other exchange of that worker comes before it.
///
/// Where workers have clocks of their own, one may end with `lost`: the run went on without it. It
/// is absent from marks after its own, from the last `exchange` of these, and from the end. Its
/// offers, or offers to it, may never be applied, and later exchanges with it are left out.
struct ReplayScript {
  std::vector<std::vector<Event>> workers;
  /// Whether one clock counts the commits of all exactly (threads): then a commit's time is its
  /// number ÷ n. Otherwise (mpi) every worker's clock is the number of commits that it knows of ÷
  /// n, which may be behind the truth, or stand still, but is never ahead. Numbers of commits then
  /// repeat, even those of one worker, and a mark may be earlier than commits before it.
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
/// mean and the digests, at the time (commits of all) ÷ n. Reports the same samples and events as
/// the recorded run, except wall-clock seconds and idle shares, and takes a cut (with `step` =
/// gradients committed by then) at every checkpoint mark, also where `due` says no. For
/// asynchronous methods. The objective must have as many lanes as there are threads. A log has no
/// waits, holds or idle times, so the outcome has none.
///
/// With Checkpointing::resume it starts at that checkpoint, and so does its report. The first
/// sample then has no values of gradients, because some of them were before the checkpoint. The
/// checkpoint's state must begin with Ensemble::persist; the caller, who knows which driver wrote
/// it, checks its layout.
///
/// `complete` false: the recorded run was interrupted, and its workers' events may break off
/// anywhere; replays them as far as possible and returns Ending::stopped.
///
/// Throws BrokenScript for what no run can have done, at the latest at the end.
Outcome run_replay(const Run& run, const ReplayScript& script, bool complete, int threads);

}  // namespace acid
