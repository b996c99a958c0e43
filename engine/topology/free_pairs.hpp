#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/topology/topology.hpp"

namespace acid {

/// Which free workers exchange, where workers exchange as often as they can: a worker that has
/// become free meets one of its neighbours that are free, i with j with probability wᵢⱼ/dᵢ among
/// those. Two that have just met do not meet again before one of them has met another, unless they
/// have no other neighbours: otherwise two neighbours that always end at the same time would meet
/// each other for ever.
///
/// A pure function of topology, gossip seed and calls. Not thread-safe.
class FreePairs {
 public:
  /// All workers are free.
  FreePairs(const Topology& topology, const Seeds& seeds);
  /// The worker may exchange from now on.
  void add(int worker);
  /// The worker may not exchange until it is added again.
  void remove(int worker) { free_[static_cast<std::size_t>(worker)] = 0; }
  /// Whether workers were added since the last draw(), so that it may find pairs.
  bool has_new() const { return !new_.empty(); }
  /// Pairs of free workers, i < j, which are not free any more; no two that are left could meet. In
  /// random order. O(neighbours) for each worker that was added since the last call.
  std::vector<std::pair<int, int>> draw();

  /// Keeps who is free and the position in the random stream. Throws Error for an impossible state.
  template <class Archive>
  void persist(Archive& archive) {
    archive(stream_, free_, last_, new_);
    if constexpr (Archive::kReads) check();
  }

 private:
  void check() const;
  bool may_meet(int i, int j) const;
  /// A free neighbour of worker i; −1: there is none.
  int draw_partner(int i);

  const Topology* topology_;
  Stream stream_;
  std::vector<std::uint8_t> free_;  // by worker
  std::vector<std::int32_t> last_;  // by worker: its last partner; −1: none yet
  std::vector<std::int32_t> new_;   // workers that were added since the last draw()
};

}  // namespace acid
