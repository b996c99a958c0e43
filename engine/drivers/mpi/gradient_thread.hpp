#pragma once

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/server_visits.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"

namespace acid {

/// The thread of an asynchronous run that computes gradients of a process's worker, one after the
/// other, as many as rank 0 allows. The worker's mutex guards how far it may go.
class GradientThread {
 public:
  /// The arguments outlive this. `visits`: only if the method has a server.
  GradientThread(const Run& run, const MpiOptions& options, Post& post, SharedWorker& worker,
                 ServerVisits* visits)
      : run_(run),
        slow_factor_(options.slow_factor),
        post_(post),
        worker_(worker),
        visits_(visits) {}

  /// The thread's body, from the start of the run to its end.
  void train();

  // The communication thread calls these.
  /// The run has begun. So many gradients may be committed in all.
  void begin(std::int64_t allowed);
  /// Rank 0 says so after it has heard `returned` times that grants were given back. `is_last`: the
  /// run's other gradients are all granted.
  void allow(std::int64_t gradients, std::int64_t returned, bool is_last);
  /// Whether the worker commits no gradient any more.
  bool is_over();
  /// The worker should commit no gradient from now on; any thread.
  void close();

 private:
  void wait_for_start();
  /// Begins the next gradient once the throttle lets it, unless one is in flight. Returns false if
  /// the run is closing.
  bool has_gradient();
  bool visit_until_gradient() REQUIRES_LOCK(worker_.mutex);
  void hold_until(double until);
  void give_back() REQUIRES_LOCK(worker_.mutex);
  /// Returns false if nothing was committed, or nothing should be any more.
  bool commit(double loss, double began);
  bool must_wait() REQUIRES_LOCK(worker_.mutex);

  const Run& run_;
  const double slow_factor_;
  Post& post_;
  SharedWorker& worker_;
  ServerVisits* const visits_;
  std::int64_t allowed_ GUARDED_BY(worker_.mutex) = 0;
  std::int64_t returned_ GUARDED_BY(worker_.mutex) = 0;  // how often grants were given back
  bool is_last_ GUARDED_BY(worker_.mutex) = false;
  bool begun_ GUARDED_BY(worker_.mutex) = false, closing_ GUARDED_BY(worker_.mutex) = false;
  bool over_ GUARDED_BY(worker_.mutex) = false;
};

}  // namespace acid
