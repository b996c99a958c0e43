#pragma once

#include "engine/drivers/virtual/machine.hpp"
#include "engine/drivers/virtual/round_clock.hpp"
#include "engine/methods/network.hpp"
#include "engine/run/run.hpp"

namespace acid {

/// When workers compute gradients. Synchronous methods know durations only.
enum class GradientClock {
  duration,  // a gradient begins, takes its time, and is committed
  poisson,   // at unit rate Poisson events a gradient of the current x is committed at once, the
             // setting of the theory
  none       // never: exchanges alone, until the budget's normalised time, which must be finite
};

struct VirtualOptions {
  GradientClock gradient_clock = GradientClock::duration;
  /// Under other clocks than `duration` only gradient_seconds and the pauses count. Where gradients
  /// take no time the optimiser takes none.
  ComputeModel compute;
  NetworkModel network;
  CostModel cost;
  /// A run may find another machine than the next one does, or than was measured: all its times but
  /// the pauses have one more factor, which is drawn from its seed. This is the standard deviation
  /// of the factor's logarithm; its mean is 1.
  double variation = 0;
  /// Threads that compute; 0: all on the calling thread. The result's bits do not depend on it.
  int threads = 0;
  static constexpr int kClockAlone = -1;  // instead: nothing is computed, as run_clock() says
  bool computes() const { return threads != kClockAlone; }

  /// Whether an exchange between workers is over when it begins.
  bool has_instant_exchanges() const { return network.is_instant() && cost.exchange_seconds == 0; }
};

/// The factor of a run's times, 1 without VirtualOptions::variation.
double variation_factor(const VirtualOptions& options, const Seeds& seeds);

/// Discrete-event simulation with real gradients. When events happen never depends on parameter
/// values, so the schedule runs ahead of the arithmetic, which follows on a pool of threads in each
/// worker's order of events: the same bits for any number of threads.
///
/// With a server, messages and replies take the time of the default link, and those of all workers
/// share the server's: each way its bytes follow each other. What it does takes no time. Hubs share
/// the link of the one above likewise.
///
/// Under a budget of seconds asynchronous workers go on until then, and a synchronous run ends with
/// the last round that was over by then. Either way the run's seconds end with its last gradient or
/// its limit: exchanges that are due then are still executed, without being charged.
///
/// Returns at the end of the budget, when `stop` is requested (Ending::stopped, after a last cut),
/// or when a loss or the consensus distance is no longer finite (Ending::diverged). The objective
/// must have max(1, threads) lanes. Blocks; call from one thread.
Outcome run_virtual(const Run& run, const VirtualOptions& options);

/// Cut::layout of the cuts that run_virtual takes.
std::string_view virtual_state_layout(const RunSpec& spec);

}  // namespace acid
