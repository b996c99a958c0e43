#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

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
/// driver and every process executes a prefix of the same list (docs/SEMANTICS.md, Pairing).
///
/// Drawn as: total rate rn/2; the initiator is uniform over workers and picks a neighbour with
/// probability wᵢⱼ/dᵢ, which gives edge ij the rate (r/2)(wᵢⱼ/dᵢ + wᵢⱼ/dⱼ) without a
/// table over edges. Not thread-safe.
class EdgeSchedule {
 public:
  /// With rate = 0 or n = 1 the list is empty and peek().due is infinite.
  EdgeSchedule(const Topology& topology, double rate, const Seeds& seeds);
  /// The next edge of the list; pop() moves on.
  const DueEdge& peek() const { return drawn_[next_]; }
  DueEdge pop() {
    const DueEdge due = drawn_[next_];
    next_ = (next_ + 1) % kDrawn;
    if (next_ % kPortion == 0) draw((next_ + kDrawn - kPortion) % kDrawn);
    return due;
  }
  /// The edge that comes `places` ≤ kAhead after peek(), so that its workers' memory can be
  /// fetched.
  const DueEdge& ahead(std::size_t places) const { return drawn_[(next_ + places) % kDrawn]; }

  /// Keeps the position in the list; topology, rate and seeds are not part of it.
  template <class Archive>
  void persist(Archive& archive) {
    Drawing at = last_;
    if constexpr (!Archive::kReads) at = after_next();
    archive(at.clock, at.pairing, at.last);
    if constexpr (Archive::kReads) draw_on_from(at);
  }

 private:
  // Edges are drawn in portions, which costs less than one by one, and some are drawn ahead, so
  // that the processor can draw while it waits for the memory of the next ones.
  static constexpr std::size_t kPortion = 64, kDrawn = 4 * kPortion;

 public:
  static constexpr std::size_t kAhead = kDrawn - kPortion;

 private:
  /// The streams, and the last edge drawn from them.
  struct Drawing {
    Stream clock, pairing;
    DueEdge last;
  };
  /// The state before a portion of drawn_, or within it: the edges from `first` on were not drawn
  /// yet.
  struct Mark {
    Drawing at;
    std::size_t first = 0;
  };
  void draw(std::size_t begin);
  void draw_one(Drawing& drawing) const;
  Drawing after_next() const;
  void draw_on_from(const Drawing& after_next);

  const Topology* topology_;
  double total_rate_;
  std::array<DueEdge, kDrawn> drawn_;  // a ring
  std::size_t next_ = 0;               // in drawn_
  Drawing last_;                       // after the last drawn edge
  std::vector<Mark> marks_;            // by portion
};

}  // namespace acid
