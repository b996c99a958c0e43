#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace acid {

/// The settings, by dotted key, that are not the defaults or have no default.
std::map<std::string, nlohmann::json> changed_from_default(
    const std::map<std::string, nlohmann::json>& settings);

}  // namespace acid
