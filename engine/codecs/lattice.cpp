#include "engine/codecs/lattice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/codecs/bits.hpp"

namespace acid {
namespace {

std::size_t checks(std::size_t size) { return (size + Lattice::kChecked - 1) / Lattice::kChecked; }

double drawn_shift(Stream& dither, double spacing) {
  return ((static_cast<double>(dither.next32()) + 0.5) * 0x1p-32 - 0.5) * spacing;
}

/// Of the integers of one block.
class Hash {
 public:
  void add(std::int64_t number) {
    state_ = std::rotl(state_ ^ static_cast<std::uint64_t>(number), 23) * 0x9e3779b97f4a7c15u;
  }
  std::uint32_t value() const {
    return static_cast<std::uint32_t>((state_ ^ state_ >> 29) * 0xbf58476d1ce4e5b9u >> 32);
  }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3u;
};

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();  // no receiver finds it

}  // namespace

double Lattice::radius() const { return spacing * ((1 << bits) - 1) / 2; }

// With four numbers of single precision between two of the lattice, rounding one of these to single
// precision leaves no doubt about which it is.
bool Lattice::holds(double value) const { return std::abs(value) <= spacing * 0x1p22; }

std::size_t Lattice::packed_floats(std::size_t size) const {
  return checks(size) + floats_of_bits(bits * size);
}

void Lattice::project(Stream dither, std::span<float> values) const {
  for (float& value : values) {
    const double shift = drawn_shift(dither, spacing);
    if (holds(value))
      value = static_cast<float>(spacing * std::nearbyint((value + shift) / spacing) - shift);
  }
}

void Lattice::pack(Stream dither, std::span<const float> values, std::span<float> out) const {
  BitWriter writer(out.subspan(checks(values.size())));
  for (std::size_t block = 0; block < checks(values.size()); ++block) {
    Hash hash;
    for (const float value : values.subspan(block * kChecked)
                                 .first(std::min(kChecked, values.size() - block * kChecked))) {
      const double shift = drawn_shift(dither, spacing);
      const auto number = holds(value) ? std::llrint((value + shift) / spacing) : kNone;
      hash.add(number);
      writer.add(static_cast<std::uint64_t>(number) & ((1u << bits) - 1), bits);
    }
    out[block] = std::bit_cast<float>(hash.value());
  }
}

void Lattice::unpack(Stream dither, std::span<const float> packed, std::span<const float> key,
                     std::span<float> out) const {
  const double period = 1 << bits;
  BitReader reader(packed.subspan(checks(out.size())));
  for (std::size_t block = 0; block < checks(out.size()); ++block) {
    const std::size_t first = block * kChecked, last = std::min(first + kChecked, out.size());
    Hash hash;
    for (std::size_t k = first; k < last; ++k) {
      const double shift = drawn_shift(dither, spacing);
      const auto lowest = static_cast<double>(reader.take(bits));
      const double near = without_keys ? 0 : key[k];
      const double wanted = holds(near) ? (near + shift) / spacing : 0;
      const double number = lowest + period * std::nearbyint((wanted - lowest) / period);
      hash.add(std::llrint(number));
      out[k] = static_cast<float>(spacing * number - shift);
    }
    if (std::bit_cast<std::uint32_t>(packed[block]) != hash.value())
      std::ranges::fill(out.subspan(first, last - first), std::numeric_limits<float>::quiet_NaN());
  }
}

std::vector<Lattice::Block> Lattice::too_far_apart(std::span<const float> a,
                                                   std::span<const float> b) const {
  std::vector<Block> blocks;
  for (std::size_t first = 0; first < a.size(); first += kChecked) {
    const std::size_t last = std::min(first + kChecked, a.size());
    bool near = true;
    for (std::size_t k = first; k < last && near; ++k) {
      const double key = without_keys ? 0 : b[k];
      near = holds(a[k]) && holds(key) && std::abs(a[k] - key) <= radius();
    }
    if (!near) blocks.emplace_back(first, last);
  }
  return blocks;
}

}  // namespace acid
