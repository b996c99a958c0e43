#pragma once

#include <functional>
#include <nlohmann/json.hpp>

namespace acid {

/// Calls `visit` for every value in a run's settings that is a path: of a file field, or of an
/// edges field that names a file. It may replace the value.
void for_each_path(nlohmann::json& settings,
                   const std::function<void(nlohmann::json& path)>& visit);

/// Removes from a run's settings the keys that say where and how long, not what (Field::placement):
/// the run stays the same run when they change.
void forget_placement(nlohmann::json& settings);

}  // namespace acid
