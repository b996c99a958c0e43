#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "engine/base/fields.hpp"

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

inline constexpr std::array kTimeUnits = {Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"us", 1e-6},
                                          Unit{"µs", 1e-6}};
inline constexpr std::array kBandwidthUnits = {Unit{"B/s", 1},          Unit{"kB/s", 1e3},
                                               Unit{"MB/s", 1e6},       Unit{"GB/s", 1e9},
                                               Unit{"bit/s", 1.0 / 8},  Unit{"kbit/s", 1e3 / 8},
                                               Unit{"Mbit/s", 1e6 / 8}, Unit{"Gbit/s", 1e9 / 8}};

/// The units of a key that takes numbers, by what its name ends with; empty: it takes none.
std::span<const Unit> units_of(const Field& field);
/// What a number of such a key is in without a unit, "bytes per second", and a value, "25 Gbit/s".
std::string_view plain_unit_of(const Field& field);
std::string_view example_with_unit(const Field& field);
/// "B/s, kB/s or MB/s".
std::string names_of_units(std::span<const Unit> units);
/// The key's value in a text with one of its units, to 15 digits, so that "9 ms" is what 9e-3 is;
/// nothing for another text.
std::optional<double> value_with_unit(std::string_view text, const Field& field);

/// "1.5 GB" is 1.5e9, within what doubles round; nothing for what is no size.
inline std::optional<double> bytes_in(std::string_view text) {
  const auto bytes = quantity(text, kByteUnits);
  if (!bytes || !std::isfinite(*bytes) || *bytes < 0) return std::nullopt;
  const double whole = std::round(*bytes);
  return std::abs(*bytes - whole) <= 4e-16 * *bytes ? whole : *bytes;
}

}  // namespace acid
