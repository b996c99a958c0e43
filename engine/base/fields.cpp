#include "engine/base/fields.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"

namespace acid {
namespace {

// Options come from the recipe compiler, which completes them, or from a store, which may have been
// altered: nlohmann's exception says which option is missing.
const nlohmann::json& value_of(const nlohmann::json& options, std::string_view name) {
  return options.at(std::string(name));
}

}  // namespace

const Field* FieldTable::find(std::string_view name) const { return find_named(fields, name); }

std::vector<std::string> split_choices(std::string_view choices) {
  std::vector<std::string> names;
  for (const std::string_view choice : split_at(choices, ',')) names.emplace_back(trimmed(choice));
  return names;
}

double number(const nlohmann::json& options, std::string_view name) {
  return value_of(options, name).get<double>();
}

std::int64_t integer(const nlohmann::json& options, std::string_view name) {
  return value_of(options, name).get<std::int64_t>();
}

std::string text(const nlohmann::json& options, std::string_view name) {
  return value_of(options, name).get<std::string>();
}

nlohmann::json with_fallbacks(std::span<const Field> fields, const nlohmann::json& given) {
  nlohmann::json options = given;
  for (const Field& field : fields) {
    const std::string name(field.name);
    if (options.contains(name)) continue;
    ACID_ASSERT(!field.fallback.empty(), "option '{}' is required", field.name);
    options[name] = nlohmann::json::parse(field.fallback);
  }
  return options;
}

}  // namespace acid
