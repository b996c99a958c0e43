#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Values by dotted key: {"optimizer": {"momentum": 0.9}} becomes "optimizer.momentum" → 0.9.
/// Lists, empty objects and tables by number ({"0": 10.0}) are values.
using FlatSettings = std::map<std::string, nlohmann::json>;
FlatSettings flatten(const nlohmann::json& settings);

/// The value of a dotted key; null when there is none.
const nlohmann::json& value_at(const FlatSettings& settings, const std::string& key);

/// The value at a place such as "/workers/count" of a run's settings; null where there is none.
const nlohmann::json& setting_at(const nlohmann::json& settings, const std::string& place);
/// The number there; `otherwise` where there is none or something else.
double number_at(const nlohmann::json& settings, const std::string& place, double otherwise);

/// Whether the seconds of runs with these settings are simulated.
bool is_simulated(const nlohmann::json& settings);

/// Keys with more than one value among `all`, where a missing key is a value of its own; without
/// those that say where and how long (KeyRole::is_placement), which tell no runs apart.
std::vector<std::string> varying_keys(const std::vector<const FlatSettings*>& all);
std::vector<std::string> varying_keys(const std::vector<FlatSettings>& all);

/// Keys of the algorithm's own table, "algorithm.weights".
bool is_algorithm_key(std::string_view key);

/// "task.model" and "hidden" of "task.model.hidden". A key without a dot has no table.
std::string table_of_key(const std::string& key);
std::string last_word(const std::string& key);
/// The last two words of a dotted key, for a table or a picture.
std::string brief_key(const std::string& key);

/// Shown for a setting that a run lacks.
inline constexpr std::string_view kNoValue = "–";
/// For people: text without quotes, numbers with up to six digits, lists and tables as in a recipe,
/// "none" for empty ones, kNoValue for null.
std::string value_text(const nlohmann::json& value);
/// For CSV: the same with all digits, and nothing for null.
std::string exact_text(const nlohmann::json& value);

}  // namespace acid
