#include "recipes/units.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <vector>

#include "engine/base/names.hpp"

namespace acid {

namespace {

struct Quantity {
  std::span<const Unit> units;
  std::string_view plain, example;
};

Quantity quantity_of(const Field& field) {
  if (field.type == FieldType::bytes) return {kByteUnits, "bytes", "260 MB"};
  if (field.type != FieldType::number) return {};
  if (field.name.ends_with("bytes_per_second"))
    return {kBandwidthUnits, "bytes per second", "25 Gbit/s"};
  if (field.name == "seconds" || field.name.ends_with("_seconds"))
    return {kTimeUnits, "seconds", "30 ms"};
  return {};
}

}  // namespace

std::span<const Unit> units_of(const Field& field) { return quantity_of(field).units; }
std::string_view plain_unit_of(const Field& field) { return quantity_of(field).plain; }
std::string_view example_with_unit(const Field& field) { return quantity_of(field).example; }

std::string names_of_units(std::span<const Unit> units) { return one_of(names_of(units)); }

std::optional<double> value_with_unit(std::string_view text, const Field& field) {
  if (field.type == FieldType::bytes) return bytes_in(text);
  const auto value = quantity(text, units_of(field));
  if (!value || !std::isfinite(*value)) return std::nullopt;
  const std::string digits = fmt::format("{:.15g}", *value);
  double rounded = *value;  // stays where the digits are of no normal number
  std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return rounded;
}

}  // namespace acid
