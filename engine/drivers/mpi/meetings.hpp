#pragma once

#include <atomic>
#include <optional>

#include "engine/drivers/mpi/coordinator.hpp"
#include "engine/drivers/mpi/gradient_thread.hpp"
#include "engine/drivers/mpi/marks.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/pair_exchange.hpp"
#include "engine/drivers/mpi/progress.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/mpi/server.hpp"
#include "engine/drivers/mpi/server_visits.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"

namespace acid {

/// One process of an asynchronous run: its worker, a thread that computes gradients, and a thread
/// that talks to the others. docs/MPI.md tells the protocol. Both threads share the worker, under
/// its mutex; everything else here is the communication thread's.
class MpiAsync {
 public:
  /// `coordinator`, `collector` and, where the method has one, `server`: on rank 0 only.
  MpiAsync(const Run& run, const MpiOptions& options, Post& post, Coordinator* coordinator,
           Collector* collector, MpiServer* server);

  /// The gradient thread, from the start of the run to its end.
  void train() { gradients_.train(); }
  /// The communication thread, likewise.
  void communicate();
  /// Ends both threads without an end of the run; any thread.
  void abandon();

 private:
  void deliver(const Mail& mail);
  void started(Start& start);
  void hear_clock(MailReader& reader);
  void promise_cut();
  void stop_clock_at_next_mark() REQUIRES_LOCK(worker_.mutex);
  void lose(const Mail& mail);
  void act();
  bool place_mark();
  bool is_idle() REQUIRES_LOCK(worker_.mutex);
  void tell_stop();
  void tell_closed();

  const Run& run_;
  Post& post_;
  Coordinator* const coordinator_;
  Collector* const collector_;
  MpiServer* const server_;
  const int rank_;
  SharedWorker worker_;
  std::optional<ServerVisits> visits_;  // where the method has a server
  GradientThread gradients_;
  Progress progress_;
  PairExchange exchange_;
  Marks marks_;
  StartReceiver start_;
  bool started_ = false, over_ = false;
  std::int64_t granted_ = 0;  // gradients at the start
  bool must_close_ = false;   // rank 0 waits for our last gradient
  bool told_closed_ = false, told_stop_ = false;
  std::atomic<bool> abandoned_{false};
};

}  // namespace acid
