#pragma once

#include <atomic>

#include "engine/drivers/mpi/collector.hpp"
#include "engine/drivers/mpi/evaluator.hpp"

namespace acid {

/// One process of a run under the mpi driver, from start to end: a thread that trains its worker, a
/// thread that talks to the other processes, and, on rank 0, the evaluator on the calling thread.
/// AsyncProcess and RoundProcess add what their calendar needs.
///
/// Belongs to the communication thread, except where noted.
class Process {
 public:
  /// `evaluator`, `collector`: on rank 0 only. The arguments outlive this.
  Process(const Run& run, Post& post, Evaluator* evaluator, Collector* collector)
      : run_(run),
        post_(post),
        evaluator_(evaluator),
        coordinator_(evaluator == nullptr ? nullptr : &evaluator->coordinator()),
        collector_(collector) {}
  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The whole life of the process; the calling thread's. Only rank 0 has an outcome. If one thread
  /// fails the others are released, and its exception is rethrown.
  Outcome execute();

 protected:
  /// The training thread's body, from the start of the run to its end.
  virtual void train() = 0;
  /// Of this process.
  virtual Window& window() = 0;
  /// Takes a message of a kind of this calendar.
  virtual void deliver_own(const Mail& mail) = 0;
  /// Does the other work between messages. Returns for how many seconds there is none.
  virtual double act() = 0;
  /// Whether the process may leave after its run has ended.
  virtual bool may_leave() const { return true; }
  /// Releases the training thread from any wait; any thread.
  virtual void release() = 0;

  void deliver_to_rank_zero(const Mail& mail);

  const Run& run_;
  Post& post_;
  Evaluator* const evaluator_;
  Coordinator* const coordinator_;
  Collector* const collector_;

 private:
  void communicate();
  void deliver(const Mail& mail);
  void abandon();  // ends both threads without an end of the run; any thread

  bool over_ = false, told_stop_ = false;
  std::atomic<bool> abandoned_{false};
};

}  // namespace acid
