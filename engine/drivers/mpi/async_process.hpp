#pragma once

#include <optional>

#include "engine/drivers/mpi/async_evaluator.hpp"
#include "engine/drivers/mpi/gradient_thread.hpp"
#include "engine/drivers/mpi/marks.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/pair_exchange.hpp"
#include "engine/drivers/mpi/process.hpp"
#include "engine/drivers/mpi/progress.hpp"
#include "engine/drivers/mpi/server_visits.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"

namespace acid {

/// One process of an asynchronous run: the training thread computes gradients. docs/MPI.md explains
/// the protocol. Both threads share the worker, under its mutex.
class AsyncProcess final : public Process {
 public:
  AsyncProcess(const Run& run, const MpiOptions& options, Post& post, AsyncEvaluator* evaluator,
               Collector* collector);

 private:
  Window& window() override { return worker_.window(); }
  void train() override { gradients_.train(); }
  void deliver_own(const Mail& mail) override;
  double act() override;
  void release() override;
  void started(Start& start);
  void hear_clock(MailReader& reader);
  void promise_cut();
  void stop_clock_at_next_mark() REQUIRES_LOCK(worker_.mutex);
  void lose(const Mail& mail);
  void act_on_marks();
  bool place_mark();
  bool is_idle() REQUIRES_LOCK(worker_.mutex);
  void tell_closed();

  AsyncCoordinator* const async_coordinator_;  // on rank 0
  MpiServer* const server_;                    // on rank 0, if the method has a server
  const int rank_;
  SharedWorker worker_;
  std::optional<ServerVisits> visits_;  // if the method has a server
  GradientThread gradients_;
  Progress progress_;
  PairExchange exchange_;
  Marks marks_;
  StartReceiver start_;
  bool started_ = false;
  bool must_promise_ = false;  // a cut was asked for before the start was complete
  std::int64_t granted_ = 0;   // gradients at the start
  bool must_close_ = false;    // rank 0 waits for our last gradient
  bool told_closed_ = false;
};

}  // namespace acid
