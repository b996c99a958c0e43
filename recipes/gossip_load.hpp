#pragma once

#include <optional>

#include "engine/topology/topology.hpp"
#include "recipes/diagnostics.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// The load of the busiest worker, ρᵢ = Λᵢᵢ × (an exchange's duration in gradient times)
/// (docs/SEMANTICS.md, Throttle). At 1 a worker cannot keep up.
struct Load {
  double largest = 0;
  int worker = 0;
  bool is_of_card = false;   // the load is that of its node's card, or of a path between nodes
  double unit_seconds = 0;   // of normalised time, while no worker is held
  double alone_seconds = 0;  // the same without exchanges

  /// The rate at which the largest load is `load`, where it is now `largest` > `load` at `rate`.
  double rate_at(double load, double rate) const {
    return rate * load * alone_seconds /
           (largest * unit_seconds - load * (unit_seconds - alone_seconds));
  }
  /// With a load above 1, the units of normalised time in the time that one takes without
  /// exchanges: the busiest worker's exchanges decide how long it takes.
  double pace() const { return alone_seconds / (unit_seconds * largest); }
};

/// Exchanges of `vector_bytes` in simulated time, at communication rate `rate`. With the message's
/// seconds s, the worker's own c (CostModel::exchange_seconds) and gradients of dᵢ seconds, the
/// load is Λᵢᵢ(s + c)/U. A unit of normalised time takes U = (n + c Σᵢ Λᵢᵢ/dᵢ) / Σᵢ 1/dᵢ seconds:
/// in it worker i has (U − cΛᵢᵢ)/dᵢ gradients, and all have n.
Load gossip_load(const Topology& topology, double rate, double vector_bytes,
                 const VirtualOptions& model);

struct LoadDoubt {
  Problem problem;
  bool refuses = false;
};
/// What is to be said of a load at this rate: it is high, too high to be kept, or not below
/// `max_load`. Without gradients, none can be held until exchanges have caught up. `rate_is_a_key`:
/// of the recipe; otherwise it follows from the method's own settings.
std::optional<LoadDoubt> load_doubt(const Load& load, double rate, std::optional<double> max_load,
                                    bool no_gradients, bool rate_is_a_key);

/// One all-reduce of `vector_bytes` among `workers`, in gradient times.
double all_reduce_load(int workers, double vector_bytes, const VirtualOptions& model);

}  // namespace acid
