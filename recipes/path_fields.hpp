#pragma once

#include <functional>
#include <nlohmann/json.hpp>

namespace acid {

/// Calls `visit` for every value in a run's settings that is a path: of a file field, or of an
/// edges field that names a file. It may replace the value.
void for_each_path(nlohmann::json& settings,
                   const std::function<void(nlohmann::json& path)>& visit);

}  // namespace acid
