#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace acid {

constexpr std::size_t floats_of_bits(std::size_t bits) { return (bits + 31) / 32; }

/// Writes numbers of a few bits without gaps, the lowest bit first.
class BitWriter {
 public:
  /// `out` is zeroed and outlives the writer.
  explicit BitWriter(std::span<float> out) : out_(reinterpret_cast<std::byte*>(out.data())) {}
  void add(std::uint64_t value, unsigned bits) {
    for (unsigned some = 0; bits > 0; bits -= some, value >>= some, at_ += some) {
      some = std::min<unsigned>(bits, 8 - at_ % 8);
      out_[at_ / 8] |= static_cast<std::byte>((value & ((1u << some) - 1)) << (at_ % 8));
    }
  }

 private:
  std::byte* out_;
  std::size_t at_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::span<const float> in)
      : in_(reinterpret_cast<const std::byte*>(in.data())) {}
  std::uint64_t take(unsigned bits) {
    std::uint64_t value = 0;
    for (unsigned some = 0, done = 0; done < bits; done += some, at_ += some) {
      some = std::min<unsigned>(bits - done, 8 - at_ % 8);
      const unsigned rest = std::to_integer<unsigned>(in_[at_ / 8]) >> (at_ % 8);
      value |= std::uint64_t{rest & ((1u << some) - 1)} << done;
    }
    return value;
  }

 private:
  const std::byte* in_;
  std::size_t at_ = 0;
};

}  // namespace acid
