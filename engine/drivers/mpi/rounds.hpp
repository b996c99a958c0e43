#pragma once

#include <atomic>

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/mpi/round_coordinator.hpp"
#include "engine/drivers/mpi/round_worker.hpp"

namespace acid {

/// One process of a synchronous run: a thread that takes its worker through the legs, and a thread
/// that talks to the others, whose everything here is but for the worker.
class MpiSync {
 public:
  /// `coordinator`, `collector`: on rank 0 only.
  MpiSync(const Run& run, const MpiOptions& options, Post& post, RoundCoordinator* coordinator,
          Collector* collector);

  /// The gradient thread, from the start of the run to its end.
  void train() { worker_.train(); }
  /// The communication thread, likewise.
  void communicate();
  /// Ends both threads without an end of the run; any thread.
  void abandon();

 private:
  void deliver(const Mail& mail);

  const Run& run_;
  Post& post_;
  RoundCoordinator* const coordinator_;
  Collector* const collector_;
  RoundDirectives directives_;
  RoundWorker worker_;
  StartReceiver start_;
  bool over_ = false, told_stop_ = false;
  std::atomic<bool> abandoned_{false};
};

/// A synchronous run under the mpi driver; run_mpi() says the rest.
Outcome run_mpi_sync(const Run& run, const MpiOptions& options);

}  // namespace acid
