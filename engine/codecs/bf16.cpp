#include <bit>
#include <cstring>

#include "engine/codecs/catalog.hpp"

namespace acid {
namespace {

/// The upper half of every float, rounded to nearest even: 2d bytes.
class Bf16Codec final : public Codec {
 public:
  Bf16Codec(const nlohmann::json&, bool) {}
  bool leaves_out() const override { return false; }
  std::size_t packed_floats(std::size_t size) const override { return floats_of_bits(16 * size); }
  void project(const Draw&, std::span<float> values) const override {
    for (float& value : values) {
      auto bits = std::bit_cast<std::uint32_t>(value);
      if ((bits & 0x7f800000u) != 0x7f800000u) bits += 0x7fffu + ((bits >> 16) & 1);
      value = std::bit_cast<float>(bits & 0xffff0000u);
    }
  }
  void pack(const Draw&, std::span<const float> values, std::span<float> out) const override {
    std::byte* half = std::as_writable_bytes(out).data();
    for (const float value : values) {
      const auto upper = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
      std::memcpy(std::exchange(half, half + 2), &upper, sizeof upper);
    }
  }
  void unpack(const Draw&, std::span<const float> packed, std::span<const float>,
              std::span<float> out) const override {
    const std::byte* half = std::as_bytes(packed).data();
    for (float& value : out) {
      std::uint16_t upper = 0;
      std::memcpy(&upper, std::exchange(half, half + 2), sizeof upper);
      value = std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16);
    }
  }
};

}  // namespace

const CodecEntry bf16_codec{"bf16", "the nearest of 16 bits", {}, &make_codec<Bf16Codec>};

}  // namespace acid
