#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "recipes/plan.hpp"

namespace acid {

/// Where settings have a dotted key.
nlohmann::json::json_pointer pointer_to(const std::string& key);

/// At how many settings a claim of [[claims]] is, at least: as many as an algorithm of it has
/// groups where the other runs, too. 0: there are none, or none at an end of a crossover.
std::size_t count_settings(const nlohmann::json& claim, const Plan& plan);

}  // namespace acid
