#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/topology/spectral.hpp"
#include "engine/topology/topology.hpp"
#include "recipes/diagnostics.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// How often workers that exchange as often as they can are expected to meet.
struct Saturation {
  double rate = 0;          // exchanges per worker and gradient
  std::vector<Edge> edges;  // weight: exchanges per unit of normalised time
  // Some exchanges are so short that the clock would hardly get on. They were taken to be longer,
  // so that workers meet even more often than this.
  bool at_least = false;
};

/// How often the workers of a run of meetings exchange vectors of `dimension` floats, each longer
/// than 0 seconds, if they do it as often as they can: run_clock() with the mean durations of
/// gradients. The mean over eight seeds, always the same, each for 100 units of normalised time, or
/// for fewer that have about 10 exchanges per worker, or 25,000 in all if that is more.
Saturation saturation(const RunSpec& spec, std::size_t dimension, const VirtualOptions& model);

/// What a plan expects of a run with communication_rate = "saturate".
struct Expected {
  std::optional<Problem> problem;    // it is not possible; nothing else is set then
  double rate = 1;                   // to four digits
  std::optional<Spectral> spectral;  // of the edges' rates; absent for one worker
};
/// `settings`: with any rate. `parameters`: of the model.
Expected expected_saturation(const RunSettings& settings, const Topology& topology,
                             std::int64_t parameters);

}  // namespace acid
