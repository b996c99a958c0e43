#pragma once

#include <cstdint>

#include "engine/base/rng.hpp"
#include "engine/topology/topology.hpp"

namespace acid {

/// One ring of an edge's Poisson clock.
struct DueEdge {
  std::uint64_t number = 0;  // position in the run's list, from 0
  double due = 0;            // normalised time
  int i = 0;                 // i < j
  int j = 0;
  template <class Archive>
  void persist(Archive& archive) {
    archive(number, due, i, j);
  }
};

/// The run's list of (edge, due time): independent Poisson clocks of rate λᵢⱼ on every edge, in
/// normalised time, superposed. A pure function of topology, rate and the gossip seed, so every
/// driver and every process executes a prefix of the same list (DESIGN §3).
///
/// Drawn as: total rate rn/2; the initiator is uniform over workers and picks a neighbour with
/// probability wᵢⱼ/dᵢ, which gives edge ij the rate (r/2)(wᵢⱼ/dᵢ + wᵢⱼ/dⱼ) of DESIGN §4 without a
/// table over edges. Not thread-safe.
class EdgeSchedule {
 public:
  /// rate = 0 or n = 1: the list is empty and peek().due is infinite.
  EdgeSchedule(const Topology& topology, double rate, const Seeds& seeds);
  /// The next edge of the list; pop() moves on.
  const DueEdge& peek() const { return next_; }
  DueEdge pop();

  /// Where the list stands; topology, rate and seeds are not part of it.
  template <class Archive>
  void persist(Archive& archive) {
    archive(clock_, pairing_, next_);
  }

 private:
  void draw();

  const Topology* topology_;
  double total_rate_;
  Stream clock_, pairing_;
  DueEdge next_;
};

}  // namespace acid
