#include "recipes/over.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "recipes/units.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

constexpr int kUsualCount = 20, kMostCount = 1000;
constexpr double kBytesOfNumber = sizeof(float);
constexpr std::string_view kForm = "write --over KEY=A..B, KEY=A..B:COUNT or KEY=V,V,…";

/// A key of a run's settings; `field` is that of one of the kinds that have it.
struct Known {
  std::string path;
  const Field* field;
};

void add_keys(std::vector<Known>& all, const std::string& prefix, const FieldTable& table) {
  const auto add = [&](std::span<const Field> fields) {
    for (const Field& field : fields) {
      all.push_back({prefix + std::string(field.name), &field});
      if (field.table != nullptr) add_keys(all, all.back().path + ".", *field.table);
    }
  };
  add(table.fields);
  if (table.kinds != nullptr)
    for (const FieldTable::Kind& kind : table.kinds()) add(kind.fields);
}

std::vector<Known> known_keys() {
  std::vector<Known> all;
  for (const Field& section : run_table().fields) {
    const bool listed = section.name == "algorithm";
    add_keys(all, listed ? "algorithms." : std::string(section.name) + ".", *section.table);
  }
  return all;
}

bool is_number(const Field& field) {
  return field.type == FieldType::integer || field.type == FieldType::number ||
         field.type == FieldType::bytes || field.type == FieldType::moment ||
         field.type == FieldType::factors;
}

/// "algorithms.0.communication_rate" without what steps into a list, or names a worker.
std::string without_places(const std::string& key) {
  std::vector<std::string> parts = split_path(key);
  const bool listed = parts.size() > 2 && parts[0] == "algorithms";
  if (listed) parts.erase(parts.begin() + 1);
  std::erase_if(parts, [](const std::string& part) {
    return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  });
  return fmt::format("{}", fmt::join(parts, "."));
}

/// The keys that may be meant, with their whole names: one, or several but for their units.
std::vector<Known> keys_meant(const std::string& given, const std::vector<Known>& all) {
  std::vector<Known> found;
  std::set<std::string> names;
  for (const char* const prefix : {"", "execution.virtual.", "execution."}) {
    const std::string full = prefix + without_places(given);
    for (const Known& known : all) {
      if (known.path == full) return {{prefix + given, known.field}};
      const bool but_for_unit = known.path.starts_with(full + "_");
      if (but_for_unit && is_number(*known.field) && names.insert(known.path).second)
        found.push_back({prefix + given + known.path.substr(full.size()), known.field});
    }
    if (!found.empty()) break;
  }
  return found;
}

Known key_meant(const std::string& given) {
  const std::vector<Known> all = known_keys();
  const std::vector<Known> found = keys_meant(given, all);
  if (found.size() == 1) return found.front();
  std::vector<std::string> names;
  for (const Known& one : found) names.push_back(one.path);
  if (!found.empty())
    throw UsageError(
        fmt::format("--over {} may be {}: write one of them", clip(given, 60), one_of(names)));
  for (const Known& known : all)
    for (const std::string_view above : {"", "execution.virtual."})
      for (const std::string_view unit : {"", "_seconds", "_bytes", "_bytes_per_second"})
        if (is_number(*known.field) && known.path.starts_with(above) && known.path.ends_with(unit))
          names.push_back(
              known.path.substr(above.size(), known.path.size() - above.size() - unit.size()));
  const auto nearest = nearest_name(given, names);
  throw UsageError(fmt::format(
      "--over: '{}' is not a key of a run's settings; {}", clip(given, 60),
      nearest ? fmt::format("did you mean '{}'?", *nearest) : "'acid explain' lists them"));
}

double number_in(std::string_view given, const Known& key) {
  const std::string text(trimmed(given, " \""));
  constexpr std::array kPlain = {Unit{"", 1}};
  auto value = quantity(text, kPlain);
  if (!value) value = value_with_unit(text, *key.field);
  if (value && std::isfinite(*value)) return *value;
  const auto units = units_of(*key.field);
  throw UsageError(fmt::format(
      "--over {}: '{}' is no number{}; {}", key.path, clip(text, 40),
      units.empty() ? "" : fmt::format(", nor one with {}", names_of_units(units)), kForm));
}

// How many values, which have no unit.
double count_in(std::string_view given, const Known& key) {
  constexpr Field kCount{.name = "count", .type = FieldType::integer, .fallback = "", .help = ""};
  return number_in(given, {key.path, &kCount});
}

std::vector<double> listed(const std::string& text, const Known& key) {
  std::vector<double> values;
  for (const std::string_view value : split_at(text, ',')) values.push_back(number_in(value, key));
  return values;
}

// Inner values have four digits of what lies between the ends.
std::vector<double> between(double a, double b, int count, const OverAxis& axis) {
  const double width = std::log10(std::max(std::abs(a), std::abs(b)) / (b - a));
  const int digits = 4 + static_cast<int>(std::clamp(std::floor(width), 0.0, 12.0));
  std::vector<double> values;
  for (int k = 0; k < count; ++k) {
    const double part = static_cast<double>(k) / (count - 1);
    const double exact = axis.logarithmic ? a * std::pow(b / a, part) : a + (b - a) * part;
    const double rounded = axis.rounded(std::stod(fmt::format("{:.{}g}", exact, digits)));
    const bool inner = k > 0 && k < count - 1;
    values.push_back(inner ? std::clamp(rounded, a, b) : k == 0 ? a : b);
  }
  return values;
}

void read_range(const std::string& text, std::size_t dots, const Known& key, OverAxis& axis) {
  std::string last = text.substr(dots + 2);
  int count = kUsualCount;
  if (const std::size_t colon = last.find(':'); colon != std::string::npos) {
    const double asked = count_in(std::string_view(last).substr(colon + 1), key);
    if (asked != std::round(asked) || asked < 2 || asked > kMostCount)
      throw UsageError(
          fmt::format("--over {}: {} values; a range has 2 to {}", key.path, asked, kMostCount));
    count = static_cast<int>(asked);
    last.resize(colon);
  }
  const double a = number_in(std::string_view(text).substr(0, dots), key);
  const double b = number_in(last, key);
  if (!(a < b))
    throw UsageError(
        fmt::format("--over {}: from {} to {} there is nothing; write the lower end "
                    "first",
                    key.path, a, b));
  if (axis.logarithmic && a <= 0)
    throw UsageError(
        fmt::format("--over {}: no equal ratios lead from {} to {}; begin above 0, or "
                    "add --linear",
                    key.path, a, b));
  axis.values = between(a, b, count, axis);
}

}  // namespace

std::optional<std::string> whole_key(const std::string& shorter) {
  const std::vector<Known> found = keys_meant(shorter, known_keys());
  return found.size() == 1 ? std::optional(found.front().path) : std::nullopt;
}

double OverAxis::rounded(double value) const {
  return step > 0 ? step * std::round(value / step) : value;
}

Assignment OverAxis::at(std::size_t k) const {
  Node node;
  node.type = step > 0 ? Node::Type::integer : Node::Type::number;
  if (step > 0)
    node.scalar = static_cast<std::int64_t>(values[k]);
  else
    node.scalar = values[k];
  return {key, std::move(node)};
}

OverAxis over_axis(const std::string& text, bool linear) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("--over '{}' has no KEY=; {}", clip(text, 60), kForm));
  const Known key = key_meant(std::string(trimmed(std::string_view(text).substr(0, equals))));
  if (!is_number(*key.field))
    throw UsageError(
        fmt::format("--over {}: this key is no number, so that nothing lies between "
                    "its values; put them into [sweep]",
                    key.path));
  OverAxis axis{.key = key.path,
                .values = {},
                .step = key.field->type == FieldType::integer ? 1.0
                        : key.field->type == FieldType::bytes ? kBytesOfNumber
                                                              : 0.0,
                .logarithmic = !linear};
  const std::string values = text.substr(equals + 1);
  if (const std::size_t dots = values.find(".."); dots != std::string::npos) {
    const std::size_t end = std::min(values.find_first_not_of('.', dots), values.size());
    if (end > dots + 2)
      throw UsageError(fmt::format("--over {}: '{}' has more than two dots; write {}..{}", key.path,
                                   clip(values, 40), clip(values.substr(0, dots), 40),
                                   clip(values.substr(end), 40)));
    read_range(values, dots, key, axis);
  } else {
    axis.values = listed(values, key);
    axis.logarithmic = !linear && axis.values.front() > 0;
  }
  if (axis.step > 0 &&
      std::ranges::any_of(axis.values, [](double v) { return v != std::round(v); }))
    throw UsageError(fmt::format("--over {}: this key takes whole numbers", key.path));
  axis.values.erase(std::unique(axis.values.begin(), axis.values.end()), axis.values.end());
  if (axis.values.size() < 2 || !std::ranges::is_sorted(axis.values))
    throw UsageError(
        fmt::format("--over {}: two values or more are needed, in ascending order", key.path));
  return axis;
}

}  // namespace acid
