#pragma once

#include <nlohmann/json_fwd.hpp>

namespace acid {

/// ModelRuntime::pin_threads.
void pin_library_threads(int threads);

/// ModelRuntime::environment.
nlohmann::json library_environment();

}  // namespace acid
