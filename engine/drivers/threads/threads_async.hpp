#pragma once

#include <atomic>
#include <optional>

#include "engine/base/cyclic_barrier.hpp"
#include "engine/base/stop_latch.hpp"
#include "engine/base/thread_group.hpp"
#include "engine/drivers/shared/sample_queue.hpp"
#include "engine/drivers/threads/due_exchanges.hpp"
#include "engine/drivers/threads/locked_workers.hpp"
#include "engine/drivers/threads/slow_workers.hpp"
#include "engine/drivers/threads/threads_server.hpp"

namespace acid {

/// One asynchronous run on threads: a thread per worker computes its gradients, optional threads
/// execute exchanges, the calling thread measures samples and takes cuts when they are due and sees
/// the ends that no worker sees, and another one evaluates what was measured. With a server no
/// exchange is ever due; the workers' threads visit the server instead. Order of locks: the
/// workers', then that of the due exchanges or the server's.
class ThreadsAsync {
 public:
  ThreadsAsync(const Run& run, const ThreadsOptions& options);
  Outcome execute();

  /// The state without vectors, while nothing happens: no exchange is in flight, and the caller
  /// holds every worker's mutex or is the only thread.
  template <class Archive>
  void persist(Archive& archive) {
    archive(workers_, exchanges_, shell_.sampler);
    for (int w = 0; w < spec_.workers; ++w) archive(workers_.own(w));
    if (server_) archive(*server_);
  }

 private:
  // A worker's thread calls these.
  void work(int w);
  /// Commits a gradient; the next begins with it unless the throttle holds it. Returns false if the
  /// budget is spent (or the run is closing): nothing was committed.
  bool commit(int w, double loss, double started);
  /// Begins a gradient. Returns false if the throttle holds it.
  bool begin(int w);
  /// Calls begin() until the throttle lets it. Returns false if the run is closing.
  bool begin_once_caught_up(int w);

  /// Evaluates and records samples; a thread of its own.
  void record();

  // The calling thread calls these.
  void train();
  void watch();
  /// Sleeps until this normalised time, these seconds, or for a short while.
  void sleep_until(double time, double until_seconds);
  void take_sample();
  void save_cut();
  void save_paused();

  // Any thread may call these.
  void close();
  void fail();  // called when a thread threw

  const Run& run_;
  const RunSpec& spec_;
  const ThreadsOptions& options_;
  SlowWorkers slow_workers_;
  CyclicBarrier start_line_;
  StopLatch closing_;  // no gradient commits any more
  std::atomic<bool> diverged_{false};
  LockedWorkers workers_;
  RunShell& shell_;  // part of workers_; the sampler is record()'s while samples are on their way
  DueExchanges exchanges_;
  std::optional<ThreadsServer> server_;
  struct Measured {
    MeanModel mean;
    Totals totals;
    GradientRecords notes;
  };
  SampleQueue<Measured> measured_;
  SampleTimes sample_times_;    // calling thread only
  double sampled_seconds_ = 0;  // of the latest sample; calling thread only
};

}  // namespace acid
