#pragma once

#include <nlohmann/json.hpp>

#include "engine/topology/topology.hpp"

namespace acid {

/// How busy exchanging keeps the busiest worker (docs/SEMANTICS.md, Throttle).
/// ρᵢ = Λᵢᵢ × (an exchange's duration in gradient times). ρ ∝ rate, and from ρ = 1 on a worker
/// cannot keep up.
struct Load {
  double largest = 0;
  int worker = 0;
};

/// Exchanges of `vector_bytes` under the model `execution.virtual` (resolved, checked), at
/// communication rate `rate`.
Load gossip_load(const Topology& topology, double rate, double vector_bytes,
                 const nlohmann::json& model);

/// One all-reduce of `vector_bytes` among `workers` under such a model, in gradient times.
double all_reduce_load(int workers, double vector_bytes, const nlohmann::json& model);

}  // namespace acid
