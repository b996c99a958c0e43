#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace acid {

/// Of a run's settings by dotted key, those that it would not have with a recipe that says nothing
/// of them: values that are no defaults, and keys without one.
std::map<std::string, nlohmann::json> changed_from_default(
    const std::map<std::string, nlohmann::json>& settings);

}  // namespace acid
