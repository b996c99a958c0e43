#pragma once

#include <optional>

#include "engine/worker/rule.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// What theory says of a run's consensus distance C(t), in normalised time t.
struct ConsensusTheory {
  Decay decay;  // of exchanges that happen at once and nothing else
  /// Proven of the whole run, in expectation over what its seed draws:
  ///   C(t) ≤ factor · C(0) e^(−rate·t) + level · (1 − e^(−rate·t)).
  /// Steps of pure noise, variance γ²σ² in each of d parameters, by Poisson clocks, add
  /// level = factor · (1 − 1/n) γ²σ²d / rate. Absent: nothing is proven, and the decay is no more
  /// than a guide to the slope.
  std::optional<double> level;
};

/// On a graph with these numbers, as planned; nothing where the method's exchanges have no decay
/// that is known (consensus_decay). Every assumption of the proof is looked for among the settings:
/// where one is not found, for whatever reason, there is no level. Throws Error for an algorithm
/// that this acid does not know.
std::optional<ConsensusTheory> consensus_theory(const RunSettings& settings, double chi1,
                                                double chi2);

}  // namespace acid
