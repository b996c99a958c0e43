#pragma once

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"

namespace acid {

/// Tells rank 0 how far a process's worker is, when that is news and not too often. What rank 0
/// knows of a worker's gradients may never be more than what it has of the events. The
/// communication thread's.
class Progress {
 public:
  Progress(const Run& run, const MpiOptions& options, Post& post)
      : clock_(run.clock), post_(post), goes_on_(options.goes_on) {}

  /// Rank 0 knows of so many gradients.
  void begin_at(std::int64_t gradients) { told_gradients_ = gradients; }
  /// Unless nothing is new, or it told rank 0 a moment ago.
  void tell(SharedWorker& worker) REQUIRES_LOCK(worker.mutex);
  /// Where the run may go on without this process: rank 0 has to know of an event before another
  /// worker can depend on it. Should this process die now, those events can be executed again.
  void testify(SharedWorker& worker) REQUIRES_LOCK(worker.mutex);
  /// How long nothing is to be told.
  double seconds_to_next() const;

 private:
  void send(SharedWorker& worker) REQUIRES_LOCK(worker.mutex);

  const Clock& clock_;
  Post& post_;
  const bool goes_on_;
  bool untold_ = false;  // there is progress that rank 0 does not know of
  std::int64_t told_gradients_ = 0;
  bool told_diverged_ = false;
  double told_seconds_ = 0;  // when
};

}  // namespace acid
