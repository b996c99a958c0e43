#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

namespace acid {

struct Unit {
  std::string_view name;  // empty: of a number without a unit
  double factor;
};

/// "1.5 GB" is 1.5 times the factor of "GB"; nothing where the text is not a number and one of the
/// units, with or without spaces between.
inline std::optional<double> quantity(std::string_view text, std::span<const Unit> units) {
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (const Unit& unit : units)
    if (unit.name == text) return count * unit.factor;
  return std::nullopt;
}

inline constexpr std::array kByteUnits = {
    Unit{"B", 1},        Unit{"kB", 1e3},     Unit{"MB", 1e6},
    Unit{"GB", 1e9},     Unit{"TB", 1e12},    Unit{"KiB", 0x1p10},
    Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};

/// "1.5 GB" is 1.5e9, within what doubles round; nothing for what is no size.
inline std::optional<double> bytes_in(std::string_view text) {
  const auto bytes = quantity(text, kByteUnits);
  if (!bytes || !std::isfinite(*bytes) || *bytes < 0) return std::nullopt;
  const double whole = std::round(*bytes);
  return std::abs(*bytes - whole) <= 4e-16 * *bytes ? whole : *bytes;
}

}  // namespace acid
