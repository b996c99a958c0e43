#pragma once

#include <string>
#include <vector>

namespace acid::bench {

/// `acid`, beside this program.
std::string acid_program();

/// Runs a program that must succeed, and returns what it wrote to standard output and error.
/// Throws Error with that otherwise. `environment`: "NAME=VALUE" beside the inherited.
std::string run_program(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment = {});

}  // namespace acid::bench
