#pragma once

#include <vector>

#include "engine/run/run.hpp"

namespace acid {

struct ThreadsOptions {
  /// Per worker; empty: all 1. A worker with factor f takes f times as long over a gradient as the
  /// workers with factor 1 do: it sleeps the difference.
  std::vector<double> slow_factors;
  /// Threads that only do exchanges. 0: the thread that makes an edge startable executes it,
  /// between two gradients of its own worker and beside the gradients of the others. More than 0
  /// helps where cores are idle.
  int exchange_threads = 0;
};

/// One thread per worker, wall clock, real asynchrony: gradients read snapshots, exchanges change x
/// under the two workers' mutexes beside them. Normalised time is gradients committed by all ÷ n,
/// read under the worker's mutex. Waiting threads sleep and never spin.
///
/// The objective must have workers + 1 lanes: worker i computes on lane i, evaluation uses the
/// last. Evaluation runs on the calling thread beside the training. A cut waits for the exchanges
/// in flight and holds all workers while it is saved. Blocks until the run has ended.
Outcome run_threads(const Run& run, const ThreadsOptions& options);

/// Cut::layout of the cuts that run_threads takes.
std::string_view threads_state_layout(const RunSpec& spec);

}  // namespace acid
