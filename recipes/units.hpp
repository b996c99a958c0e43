#pragma once

#include <charconv>
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

}  // namespace acid
