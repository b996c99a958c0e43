#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace acid {

/// Cores this process may run on.
int usable_cores();

/// What a run's bits and speed may depend on (DESIGN §7, environment): acid's build, compiler and
/// flags, CPU, cores, memory, kernel, host, the environment variables that matter, command line.
nlohmann::json environment(const std::string& command_line);

}  // namespace acid
