#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace acid::bench {

/// `acid`, beside this program.
std::string acid_program();
/// Where a program is that is built beside this one. Throws Error when it is not there, naming its
/// target.
std::string built_program(const std::string& name);

/// Runs a program that must succeed, and returns the CPU seconds of it and of all that it waited
/// for. Throws Error with the end of what it wrote otherwise. `environment`: "NAME=VALUE" beside
/// the inherited. Any thread.
double run_program(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment = {});

/// The processes that a process has started and not yet waited for; none if it is gone.
std::vector<pid_t> children_of(pid_t pid);

}  // namespace acid::bench
