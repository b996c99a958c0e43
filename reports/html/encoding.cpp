#include "reports/html/encoding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/base/digest.hpp"

namespace acid {
namespace {

int hex_digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    std::uint32_t group = 0;
    for (std::size_t b = 0; b < 3; ++b)
      group =
          group << 8 | (k + b < bytes.size() ? std::to_integer<std::uint32_t>(bytes[k + b]) : 0);
    const std::size_t digits = std::min<std::size_t>(3, bytes.size() - k) + 1;
    for (std::size_t d = 0; d < 4; ++d)
      text += d < digits ? kAlphabet[group >> (18 - 6 * d) & 63u] : '=';
  }
  return text;
}

std::string packed_floats(const std::vector<double>& values) {
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * sizeof(float));
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (const double value : values) {
    const double drawn = std::isfinite(value) ? std::clamp(value, -kLargest, kLargest) : value;
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(drawn));
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(std::byte(bits >> shift & 0xFF));
  }
  return base64(bytes);
}

std::string content_hash(std::string_view content) {
  const std::string hex = sha256_hex(content);
  std::vector<std::byte> bytes;
  for (std::size_t k = 0; k < hex.size(); k += 2)
    bytes.push_back(std::byte(hex_digit(hex[k]) << 4 | hex_digit(hex[k + 1])));
  return "'sha256-" + base64(bytes) + "'";
}

}  // namespace acid
