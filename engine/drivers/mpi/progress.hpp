#pragma once

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"

namespace acid {

/// Tells rank 0 how far a process's worker is, when that is news and not too often. Rank 0 may
/// never know of more gradients of a worker than it has events of. The communication thread's.
class Progress {
 public:
  Progress(const Run& run, const MpiOptions& options, Post& post)
      : clock_(run.clock), post_(post), goes_on_(options.goes_on) {}

  /// Rank 0 knows of so many gradients.
  void begin_at(std::int64_t gradients) { told_gradients_ = gradients; }
  /// Tells rank 0, unless nothing is new or it was told a moment ago.
  void tell(SharedWorker& worker) REQUIRES_LOCK(worker.mutex);
  /// Tells rank 0 at once if the run may go on without this process: rank 0 must know of an event
  /// before another worker can depend on it. Then a replay has it, even if this process dies.
  void testify(SharedWorker& worker) REQUIRES_LOCK(worker.mutex);
  /// For how many seconds nothing is to be told.
  double seconds_to_next() const;

 private:
  void send(SharedWorker& worker) REQUIRES_LOCK(worker.mutex);

  const Clock& clock_;
  Post& post_;
  const bool goes_on_;
  bool untold_ = false;  // rank 0 does not know all progress
  std::int64_t told_gradients_ = 0;
  bool told_diverged_ = false;
  double told_seconds_ = 0;  // time of the last report
};

}  // namespace acid
