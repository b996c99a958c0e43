#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/rng.hpp"

namespace acid {

// The virtual driver's model of a machine: how long gradients take, in simulated seconds
// (docs/SIMULATION.md). engine/methods/network.hpp models messages.

enum class ComputeKind { constant, exponential, shifted_exponential, lognormal, pareto, measured };

struct Pause {
  int worker = 0;
  double at_seconds = 0;
  double for_seconds = 0;
};

/// Gradient durations. Every kind has mean 1 before the factors; the mean is gradient_seconds times
/// the worker's speed factor times 1 + p(f − 1) for random slowdowns by f with probability p.
struct ComputeModel {
  ComputeKind kind = ComputeKind::constant;
  double parameter = 0;                // shifted_exponential: constant share; lognormal: sigma;
                                       // pareto: shape > 1
  std::vector<double> quantiles = {};  // measured: with mean 1 (engine/base/quantiles.hpp)
  double gradient_seconds = 1;
  std::vector<double> slow_factors;  // per worker; empty: all 1
  double slowdown_probability = 0, slowdown_factor = 1;
  std::vector<Pause> pauses;  // by at_seconds; a worker's do not overlap

  /// Whether all gradients of all workers take the same time.
  bool is_even() const;
  double mean_seconds(int worker) const;
  /// Duration of worker's gradient number `step`: a pure function of seeds, worker and step.
  double draw_seconds(int worker, std::int64_t step, const Seeds& seeds) const;
  /// When work of `seconds` that starts at `start` ends, given the worker's pauses.
  double end_seconds(int worker, double start, double seconds) const;
};

}  // namespace acid
