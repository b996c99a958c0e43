#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace acid {

/// Cores this process may run on; in a job of Slurm at most those that the job got.
int usable_cores();

/// The identity of each of acid's own programs and modules in this process, by file name: the build
/// id that the linker made from its content.
nlohmann::json own_programs();

/// What a run's bits and speed may depend on: acid's build, compiler and flags, CPU, cores, memory,
/// kernel, host, the relevant environment variables, command line.
nlohmann::json environment(const std::string& command_line);

}  // namespace acid
