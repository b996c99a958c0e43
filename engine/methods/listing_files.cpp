#include <fmt/format.h>
#include <toml++/toml.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/methods/listed.hpp"

namespace acid {
namespace {

nlohmann::json json_of(const toml::node& node) {
  if (const toml::table* const table = node.as_table()) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value);
    return object;
  }
  if (const toml::array* const array = node.as_array()) {
    nlohmann::json list = nlohmann::json::array();
    for (const toml::node& value : *array) list.push_back(json_of(value));
    return list;
  }
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto whole = node.value_exact<std::int64_t>()) return *whole;
  if (const auto number = node.value_exact<double>()) return *number;
  if (const auto flag = node.value_exact<bool>()) return *flag;
  throw UsageError("a listing has neither dates nor times");
}

}  // namespace

nlohmann::json json_of_toml(std::string_view text) {
  try {
    return json_of(toml::parse(text));
  } catch (const toml::parse_error& error) {
    throw UsageError(fmt::format("line {}, column {}: {}", error.source().begin.line,
                                 error.source().begin.column, error.description()));
  }
}

std::string_view listing_text(std::string_view name) {
  for (const ListingText& one : listing_texts())
    if (one.name == name) return one.text;
  return {};
}

}  // namespace acid
