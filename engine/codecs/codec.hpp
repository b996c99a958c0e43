#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/fields.hpp"
#include "engine/codecs/lattice.hpp"

namespace acid {

enum class CodecKind : std::uint8_t {
  bf16,      // the upper half of every float, rounded to nearest even
  top_k,     // the largest magnitudes of every chunk, ties to the lower index
  random_k,  // as many coordinates drawn anew for every message; 0 elsewhere, not rescaled
  sign,      // the mean magnitude, with each element's sign
  lattice  // the nearest of numbers `spacing` apart, of which the lowest bits travel (lattice.hpp)
};

/// What receivers get of a vector that is said, and what travels of it.
struct Codec {
  CodecKind kind = CodecKind::bf16;
  double share = 1;             // top_k, random_k: of the elements; at least one is sent
  std::size_t chunk = 0;        // top_k: elements that compete; 0: all
  bool common = false;          // random_k: all workers draw the same coordinates
  bool error_feedback = false;  // what is not sent is added to the next message
  Lattice lattice = {};         // of that kind

  /// Whether it leaves out a part of a vector, and not just digits.
  bool leaves_out() const { return kind != CodecKind::bf16 && kind != CodecKind::lattice; }

  /// Of a packed vector, in whole floats: 2d, k(4 + ⌈log₂ chunk⌉ bits), 4k + 4, ⌈d/8⌉ + 4 bytes;
  /// of a lattice ⌈d·bits/8⌉ + 4⌈d/4096⌉ + 4, and what is too far apart is sent again.
  std::size_t packed_floats(std::size_t size) const;

  /// Which draws a message has.
  struct Draw {
    std::uint64_t seed = 0;  // of the run, Purpose::dither
    std::uint32_t sender = 0;
    std::uint64_t message = 0;  // of this sender
  };
  /// values ← what receivers get of them.
  void project(const Draw& draw, std::span<float> values) const;
  /// out ← what travels of values that project() made; unpack() of it gives them back to the bit.
  void pack(const Draw& draw, std::span<const float> values, std::span<float> out) const;
  /// Of Draw only seed and sender are looked at. Only a lattice takes a key, where it has any: the
  /// receiver's own message as project() left it; it leaves NaN where that is too far away.
  void unpack(const Draw& draw, std::span<const float> packed, std::span<const float> key,
              std::span<float> out) const;
  /// Whether what does not fit is sent once more, as it is, …
  bool sends_again() const { return kind == CodecKind::lattice; }
  /// … and whether a receiver tells by its own message what fits.
  bool needs_own() const { return sends_again() && !lattice.without_keys; }
  /// The elements, in ranges [first, last), that are sent once more. `a` and `b`: what each of two
  /// projected, or what was unpacked of it; both find the same. `b` is looked at where needs_own().
  std::vector<Lattice::Block> sent_again(std::span<const float> a, std::span<const float> b) const {
    if (!sends_again()) return {};
    return lattice.too_far_apart(a, b);
  }

 private:
  std::size_t chunk_size(std::size_t size) const;
  std::size_t kept(std::size_t chunk_elements) const;
};

/// A kind of codec as recipes call it, and its keys.
struct CodecEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> fields;
};
std::span<const CodecEntry> codec_catalog();
/// Keys of all kinds.
std::span<const Field> codec_fields();
/// Of resolved options {kind, …}; "none" is none, and not given.
Codec codec_of(const nlohmann::json& options);

}  // namespace acid
