#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/codecs/catalog.hpp"

namespace acid {
namespace {

constexpr Field kLatticeFields[] = {
    {"bits", FieldType::integer, "8",
     "bits per element; two workers' values may differ by spacing · (2^bits − 1) / 2", 2, 16},
    {"spacing",
     FieldType::number,
     {},
     "distance of neighbouring numbers; the error of an element is at most half of it",
     0,
     1e6,
     true}};

constexpr std::size_t kChecked = 4096;  // elements in a row that share a check
constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();  // no receiver finds it

std::size_t checks(std::size_t size) { return (size + kChecked - 1) / kChecked; }

Stream dither_of(const Codec::Draw& draw, std::uint64_t message) {
  return Stream(Stream(draw.seed, ~std::uint64_t{draw.sender}).next64(), message);
}

/// The check over the integers of one block.
struct Hash {
  std::uint64_t state = 0x243f6a8885a308d3u;
  void add(std::int64_t number) {
    state = std::rotl(state ^ static_cast<std::uint64_t>(number), 23) * 0x9e3779b97f4a7c15u;
  }
  std::uint32_t value() const {
    return static_cast<std::uint32_t>((state ^ state >> 29) * 0xbf58476d1ce4e5b9u >> 32);
  }
};

/// Rounds each element to the nearest s·m − u, m an integer. The dither u in [−s/2, s/2) is drawn
/// by both ends for each element (Davies et al., arXiv 2002.09268; used by SwarmSGD, arXiv
/// 1910.12308). Only the lowest bits of m travel. A receiver chooses the m with these bits that is
/// nearest to a key, its own vector: this is right where the two vectors differ by at most radius_,
/// however large they are. A receiver without such a vector uses 0 as the key. For every kChecked
/// elements a hash of the m travels too, ⌈d·bits/8⌉ + 4⌈d/4096⌉ + 4 bytes in all. Where the check
/// fails, or the two vectors are too far apart, there is a gap.
///
/// Arithmetic is in double precision: the error is at most s/2 and the rounding to single. Elements
/// too large for single precision to resolve s stay unchanged and are gaps.
class LatticeCodec final : public Codec {
 public:
  LatticeCodec(const nlohmann::json& options, bool has_keys)
      : bits_(static_cast<unsigned>(integer(options, "bits"))),
        spacing_(number(options, "spacing")),
        has_keys_(has_keys),
        radius_(spacing_ * ((1 << bits_) - 1) / 2) {}
  bool leaves_out() const override { return false; }
  bool has_gaps() const override { return true; }
  bool needs_own() const override { return has_keys_; }
  std::size_t packed_floats(std::size_t size) const override {
    return 1 + checks(size) + floats_of_bits(bits_ * size);
  }
  void project(const Draw& draw, std::span<float> values) const override {
    Stream dither = dither_of(draw, draw.message);
    for (float& value : values) {
      const double shift = drawn_shift(dither);
      if (holds(value))
        value = static_cast<float>(spacing_ * std::nearbyint((value + shift) / spacing_) - shift);
    }
  }
  Gaps gaps(std::span<const float> a, std::span<const float> b) const override {
    Gaps gaps;
    for (std::size_t first = 0; first < a.size(); first += kChecked) {
      const std::size_t last = std::min(first + kChecked, a.size());
      bool near = true;
      for (std::size_t k = first; k < last && near; ++k) {
        const double key = has_keys_ ? b[k] : 0;
        near = holds(a[k]) && holds(key) && std::abs(a[k] - key) <= radius_;
      }
      if (!near) gaps.emplace_back(first, last);
    }
    return gaps;
  }
  void pack(const Draw& draw, std::span<const float> values, std::span<float> out) const override {
    const auto message = static_cast<std::uint32_t>(draw.message);
    out[0] = std::bit_cast<float>(message);
    Stream dither = dither_of(draw, message);
    const std::span<float> hashes = out.subspan(1, checks(values.size()));
    BitWriter writer(out.subspan(1 + hashes.size()));
    for (std::size_t block = 0; block < hashes.size(); ++block) {
      Hash hash;
      for (const float value : values.subspan(block * kChecked)
                                   .first(std::min(kChecked, values.size() - block * kChecked))) {
        const double shift = drawn_shift(dither);
        const auto number = holds(value) ? std::llrint((value + shift) / spacing_) : kNone;
        hash.add(number);
        writer.add(static_cast<std::uint64_t>(number) & ((1u << bits_) - 1), bits_);
      }
      hashes[block] = std::bit_cast<float>(hash.value());
    }
  }
  // If a check fails, its elements are NaN.
  void unpack(const Draw& draw, std::span<const float> packed, std::span<const float> key,
              std::span<float> out) const override {
    Stream dither = dither_of(draw, std::bit_cast<std::uint32_t>(packed[0]));
    const double period = 1 << bits_;
    const std::span<const float> hashes = packed.subspan(1, checks(out.size()));
    BitReader reader(packed.subspan(1 + hashes.size()));
    for (std::size_t block = 0; block < hashes.size(); ++block) {
      const std::size_t first = block * kChecked, last = std::min(first + kChecked, out.size());
      Hash hash;
      for (std::size_t k = first; k < last; ++k) {
        const double shift = drawn_shift(dither);
        const auto lowest = static_cast<double>(reader.take(bits_));
        const double near = has_keys_ ? key[k] : 0;
        const double wanted = holds(near) ? (near + shift) / spacing_ : 0;
        const double number = lowest + period * std::nearbyint((wanted - lowest) / period);
        hash.add(std::llrint(number));
        out[k] = static_cast<float>(spacing_ * number - shift);
      }
      if (std::bit_cast<std::uint32_t>(hashes[block]) != hash.value())
        std::ranges::fill(out.subspan(first, last - first),
                          std::numeric_limits<float>::quiet_NaN());
    }
  }

 private:
  double drawn_shift(Stream& dither) const {
    return ((static_cast<double>(dither.next32()) + 0.5) * 0x1p-32 - 0.5) * spacing_;
  }
  // With four single-precision numbers between two lattice points, rounding to single precision
  // does not change which point it is.
  bool holds(double value) const { return std::abs(value) <= spacing_ * 0x1p22; }

  const unsigned bits_;
  const double spacing_;
  const bool has_keys_;  // receivers have their own vector, unlike a server
  const double radius_;
};

}  // namespace

const CodecEntry lattice_codec{"lattice",
                               "few bits around the receiver's own message; around 0 at a server",
                               kLatticeFields, &make_codec<LatticeCodec>};

}  // namespace acid
