#pragma once

#include "engine/topology/topology.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// The load of the busiest worker, ρᵢ = Λᵢᵢ × (an exchange's duration in gradient times)
/// (docs/SEMANTICS.md, Throttle). It is proportional to the rate; at 1 a worker cannot keep up.
struct Load {
  double largest = 0;
  int worker = 0;
};

/// Exchanges of `vector_bytes` in simulated time, at communication rate `rate`.
Load gossip_load(const Topology& topology, double rate, double vector_bytes,
                 const VirtualOptions& model);

/// One all-reduce of `vector_bytes` among `workers`, in gradient times.
double all_reduce_load(int workers, double vector_bytes, const VirtualOptions& model);

}  // namespace acid
