#pragma once

#include "engine/run/run_spec.hpp"
#include "engine/topology/topology.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// The run's graph; the complete one for a method that reads none.
Topology topology_of(const RunSettings& settings);

/// All that drivers may not decide themselves, from the settings alone: without data, model and
/// device. `topology` is topology_of(settings), and outlives the spec.
RunSpec spec_from(const RunSettings& settings, const Topology& topology);

}  // namespace acid
