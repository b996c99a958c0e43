#pragma once

#include <nlohmann/json_fwd.hpp>

namespace acid {

/// ModelRuntime::speed.
nlohmann::json library_speed();

}  // namespace acid
