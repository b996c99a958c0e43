#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace acid {

/// 16-bit floats as they are stored in files; each is exactly representable as a float.
struct Float16 {  // of IEEE 754: 5 bits of exponent, 10 of fraction
  std::uint16_t bits;
  operator float() const {
    const std::uint32_t sign = (bits & 0x8000U) << 16, exponent = bits & 0x7C00U,
                        fraction = bits & 0x3FFU;
    if (exponent == 0)
      return std::bit_cast<float>(sign | 0x3F800000U) * 0x1p-24F * static_cast<float>(fraction);
    const std::uint32_t rest = (exponent | fraction) << 13;
    return std::bit_cast<float>(sign |
                                (exponent == 0x7C00U ? rest | 0x7F800000U : rest + (112U << 23)));
  }
};
struct BFloat16 {  // the upper half of a float
  std::uint16_t bits;
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

template <class Number>
inline constexpr bool is_real_v =
    std::is_floating_point_v<Number> || std::is_same_v<Number, Float16> ||
    std::is_same_v<Number, BFloat16>;

}  // namespace acid
