#pragma once

#include <optional>

#include "engine/worker/rule.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// What is proven of a run's consensus distance C(t), in normalised time t.
struct ConsensusTheory {
  Decay decay;  // with exchanges that happen at once and nothing else
  /// Proven for the whole run, in expectation over its seed's random numbers:
  ///   C(t) ≤ factor · C(0) e^(−rate·t) + level · (1 − e^(−rate·t)).
  /// Steps of pure noise, variance γ²σ² in each of d parameters, by Poisson clocks, add
  /// level = factor · (1 − 1/n) γ²σ²d / rate. Absent: nothing is proven, and the decay is only a
  /// guide to the slope.
  std::optional<double> level;
};

/// For a graph with these planned numbers; nothing if no decay is known for the method's exchanges
/// (consensus_decay). There is a level only if the settings fulfil every assumption of the proof.
/// Throws Error for an algorithm that this acid does not know.
std::optional<ConsensusTheory> consensus_theory(const RunSettings& settings, double chi1,
                                                double chi2);

}  // namespace acid
