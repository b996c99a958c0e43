#pragma once

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/server_visits.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"

namespace acid {

/// The thread of an asynchronous run that computes gradients of a process's worker, one after the
/// other, as many as rank 0 allows. How far it may go is guarded by the worker's mutex.
class GradientThread {
 public:
  /// All outlive it. `visits`: where the method has a server.
  GradientThread(const Run& run, const MpiOptions& options, Post& post, SharedWorker& worker,
                 ServerVisits* visits)
      : run_(run),
        slow_factor_(options.slow_factor),
        post_(post),
        worker_(worker),
        visits_(visits) {}

  /// What the thread does, from the start of the run to its end.
  void train();

  // The communication thread's.
  /// The run has begun. So many gradients may be committed in all.
  void begin(std::int64_t allowed);
  void allow(std::int64_t gradients);
  /// The worker commits no gradient any more.
  bool is_over();
  /// It should not from now on; any thread.
  void close();

 private:
  void wait_for_start();
  /// Begins the next gradient, once the throttle lets it, unless one is in flight. False when the
  /// run is closing.
  bool has_gradient();
  bool visit_until_gradient() REQUIRES_LOCK(worker_.mutex);
  void hold_until(double until);
  /// False when nothing was committed, or nothing should be any more.
  bool commit(double loss, double began);
  bool must_wait() const REQUIRES_LOCK(worker_.mutex);

  const Run& run_;
  const double slow_factor_;
  Post& post_;
  SharedWorker& worker_;
  ServerVisits* const visits_;
  std::int64_t allowed_ GUARDED_BY(worker_.mutex) = 0;
  bool begun_ GUARDED_BY(worker_.mutex) = false, closing_ GUARDED_BY(worker_.mutex) = false;
  bool over_ GUARDED_BY(worker_.mutex) = false;
};

}  // namespace acid
