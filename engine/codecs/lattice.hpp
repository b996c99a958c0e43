#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/rng.hpp"

namespace acid {

/// The numbers s·m − u of all integers m: s apart, and shifted by a dither u in [−s/2, s/2) that
/// both ends draw for each element (Davies et al., arXiv 2002.09268; used by SwarmSGD,
/// arXiv 1910.12308). Of m the lowest bits travel, and a receiver takes, of all m that end in them,
/// the one nearest to a key, its own vector: that is right where the two differ by no more than
/// radius(), however large they are. A receiver without a vector of that kind takes 0 for one. For
/// every kChecked elements a hash of the m travels too.
///
/// All arithmetic is in double precision, so a value is off by s/2 at most, and by what single
/// precision rounds it by. What single precision cannot tell apart as finely stays as it is, and
/// does not travel like this.
struct Lattice {
  unsigned bits = 8;
  double spacing = 0;         // s
  bool without_keys = false;  // receivers have none, as a server's

  static constexpr std::size_t kChecked = 4096;
  double radius() const;
  /// The checks, and the bits.
  std::size_t packed_floats(std::size_t size) const;

  /// values ← the nearest numbers of the lattice.
  void project(Stream dither, std::span<float> values) const;
  /// Of projected values; `out` is 0.
  void pack(Stream dither, std::span<const float> values, std::span<float> out) const;
  /// Where a check fails its elements are NaN. `key` is looked at where there are keys, …
  void unpack(Stream dither, std::span<const float> packed, std::span<const float> key,
              std::span<float> out) const;

  /// Elements in a row that share a check, [first, last).
  using Block = std::pair<std::size_t, std::size_t>;
  /// Those that travel as they are, where each of two unpacks what the other projected with what
  /// itself projected as the key. `a` and `b` are projected, or unpacked of it: from either side it
  /// is the same list. … and so is `b`.
  std::vector<Block> too_far_apart(std::span<const float> a, std::span<const float> b) const;

 private:
  bool holds(double value) const;
};

}  // namespace acid
