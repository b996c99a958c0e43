#include "cli/terminal/field_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"

namespace acid {
namespace {

using nlohmann::json;

std::string expectation(const Field& field) {
  switch (field.type) {
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer:
      return "an integer";
    case FieldType::number:
      return "a number";
    case FieldType::text:
      return "text";
    case FieldType::file:
      return "the path of a file";
    case FieldType::integers:
      return "a list of integers, such as [1,2]";
    case FieldType::numbers:
      return "a list of numbers, such as [0.5,2]";
    case FieldType::texts:
      return "a list of texts, such as [\"bias\"]";
    case FieldType::edges:
      return "edges, such as [[0,1],[1,2,2.5]], or the path of a file";
    case FieldType::table:
      return "a table, such as {\"width\":64}";
    default:  // of recipes alone
      break;
  }
  return {};
}

bool within_bounds(const Field& field, double value) {
  const bool above = field.minimum_excluded ? value > field.minimum : value >= field.minimum;
  const bool below = field.maximum_excluded ? value < field.maximum : value <= field.maximum;
  return above && below;
}

std::string bounds(const Field& field) {
  return fmt::format("{}{}, {}{}", field.minimum_excluded ? "(" : "[", field.minimum, field.maximum,
                     field.maximum_excluded ? ")" : "]");
}

bool has_type(const Field& field, const json& value) {
  const auto all = [&](auto predicate) {
    return value.is_array() && std::all_of(value.begin(), value.end(), predicate);
  };
  switch (field.type) {
    case FieldType::boolean:
      return value.is_boolean();
    case FieldType::integer:
      return value.is_number_integer();
    case FieldType::number:
      return value.is_number();
    case FieldType::text:
    case FieldType::file:
      return value.is_string();
    case FieldType::integers:
      return all([](const json& v) { return v.is_number_integer(); });
    case FieldType::numbers:
      return all([](const json& v) { return v.is_number(); });
    case FieldType::texts:
      return all([](const json& v) { return v.is_string(); });
    case FieldType::edges:
      return value.is_string() || all([](const json& v) {
               return v.is_array() && (v.size() == 2 || v.size() == 3) &&
                      v[0].is_number_integer() && v[1].is_number_integer() && v.back().is_number();
             });
    case FieldType::table:
      return value.is_object();
    default:
      break;
  }
  return false;
}

json parse_value(const Field& field, const std::string& key, const std::string& given) {
  json value = json::parse(given, nullptr, false);
  const bool is_text = field.type == FieldType::text || field.type == FieldType::file ||
                       field.type == FieldType::edges;
  if (is_text && !value.is_array() && !value.is_string()) value = given;
  if (!has_type(field, value))
    throw UsageError(fmt::format("option {}={}: expected {}", key, given, expectation(field)));
  const auto check_bounds = [&](const json& number) {
    if (!number.is_number() || within_bounds(field, number.get<double>())) return;
    throw UsageError(
        fmt::format("option {}={}: outside {} ({})", key, given, bounds(field), field.help));
  };
  check_bounds(value);
  if (field.type == FieldType::integers || field.type == FieldType::numbers)
    for (const json& element : value) check_bounds(element);
  return value;
}

std::vector<std::string> names_of(std::span<const Field> fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.emplace_back(field.name);
  return names;
}

}  // namespace

json parse_field_options(std::span<const Field> fields, const std::vector<std::string>& assignments,
                         const std::string& what) {
  const auto known = names_of(fields);
  json options = json::object();
  for (const std::string& assignment : assignments) {
    const auto equals = assignment.find('=');
    const std::string key = assignment.substr(0, equals);
    if (equals == std::string::npos)
      throw UsageError(fmt::format("option '{}' has no value; write {}=VALUE", key, key));
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& each) { return each.name == key; });
    if (field == fields.end()) {
      const auto nearest = nearest_name(key, known);
      throw UsageError(fmt::format("{} has no option '{}'; {}", what, key,
                                   nearest         ? fmt::format("did you mean '{}'?", *nearest)
                                   : known.empty() ? "it takes none"
                                                   : fmt::format("it takes {}", one_of(known))));
    }
    options[key] = parse_value(*field, key, assignment.substr(equals + 1));
  }
  for (const Field& field : fields)
    if (field.fallback.empty() && !options.contains(std::string(field.name)))
      throw UsageError(fmt::format("{} needs --option {}=VALUE: {}", what, field.name, field.help));
  return with_fallbacks(fields, options);
}

}  // namespace acid
