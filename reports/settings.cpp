#include "reports/settings.hpp"

#include <fmt/format.h>

#include <set>

#include "settings/drivers.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

/// As value_text(), with all digits if `exact`.
std::string words_of(const nlohmann::json& value, bool exact) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  if (value.is_null()) return std::string(kNoValue);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    return exact ? fmt::format("{}", number) : fmt::format("{:.6g}", number);
  }
  if (!value.is_structured()) return value.dump(-1, ' ', false, kReplace);
  if (value.empty()) return "none";
  std::string text;
  for (const auto& [key, one] : value.items())
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", value.is_object() ? key + " = " : "",
                    // as a recipe writes it
                    one.is_string() ? one.dump(-1, ' ', false, kReplace) : words_of(one, exact));
  return value.is_object() ? "{ " + text + " }" : "[" + text + "]";
}

void flatten_into(FlatSettings& flat, const std::string& prefix, const nlohmann::json& value) {
  if (!value.is_object() || is_by_worker(value)) {
    if (!prefix.empty()) flat[prefix] = value;
    return;
  }
  for (const auto& [key, child] : value.items())
    flatten_into(flat, prefix.empty() ? key : prefix + "." + key, child);
}

}  // namespace

FlatSettings flatten(const nlohmann::json& settings) {
  FlatSettings flat;
  flatten_into(flat, "", settings);
  return flat;
}

const nlohmann::json& value_at(const FlatSettings& settings, const std::string& key) {
  static const nlohmann::json kMissing;
  const auto found = settings.find(key);
  return found == settings.end() ? kMissing : found->second;
}

const nlohmann::json& setting_at(const nlohmann::json& settings, const std::string& place) {
  static const nlohmann::json kMissing;
  const nlohmann::json::json_pointer pointer(place);
  return settings.contains(pointer) ? settings.at(pointer) : kMissing;
}

double number_at(const nlohmann::json& settings, const std::string& place, double otherwise) {
  const nlohmann::json& value = setting_at(settings, place);
  return value.is_number() ? value.get<double>() : otherwise;
}

bool is_simulated(const nlohmann::json& settings) {
  const nlohmann::json& driver = setting_at(settings, "/execution/driver");
  return driver.is_string() && simulates(driver.get_ref<const std::string&>());
}

std::vector<std::string> varying_keys(const std::vector<const FlatSettings*>& all) {
  std::set<std::string> keys;
  for (const FlatSettings* settings : all)
    for (const auto& [key, value] : *settings) keys.insert(key);
  std::vector<std::string> varying;
  for (const std::string& key : keys)
    for (const FlatSettings* settings : all)
      if (value_at(*settings, key) != value_at(*all.front(), key)) {
        if (!role_of_key(key).is_placement) varying.push_back(key);
        break;
      }
  return varying;
}

std::vector<std::string> varying_keys(const std::vector<FlatSettings>& all) {
  std::vector<const FlatSettings*> places;
  for (const FlatSettings& settings : all) places.push_back(&settings);
  return varying_keys(places);
}

bool is_algorithm_key(std::string_view key) { return key.rfind("algorithm.", 0) == 0; }

std::string table_of_key(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string brief_key(const std::string& key) {
  const std::size_t last = key.rfind('.');
  if (last == std::string::npos || last == 0) return key;
  const std::size_t before = key.rfind('.', last - 1);
  return before == std::string::npos ? key : key.substr(before + 1);
}

std::string value_text(const nlohmann::json& value) { return words_of(value, false); }

std::string exact_text(const nlohmann::json& value) {
  return value.is_null() ? "" : words_of(value, true);
}

}  // namespace acid
