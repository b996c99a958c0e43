#pragma once

#include <functional>
#include <nlohmann/json.hpp>

namespace acid {

/// Calls `visit` for every path in a run's settings: of file fields, and of edges fields that name
/// a file. `visit` may replace the value.
void for_each_path(nlohmann::json& settings,
                   const std::function<void(nlohmann::json& path)>& visit);
/// The same for a task's data set alone.
void for_each_data_path(nlohmann::json& dataset,
                        const std::function<void(nlohmann::json& path)>& visit);

/// Removes the keys that do not affect a run's identity (Field::placement): where and how long.
void forget_placement(nlohmann::json& settings);

}  // namespace acid
