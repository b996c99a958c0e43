#include "bench/programs.hpp"

#include "cli/child.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"

namespace acid::bench {
namespace {

constexpr double kPatienceSeconds = 3600;

}  // namespace

std::string acid_program() { return program_folder() + "/acid"; }

std::string run_program(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment) {
  const Captured captured = capture(arguments, kPatienceSeconds, environment);
  if (!captured.ran)
    throw Error(fmt::format("{} cannot be run or failed: {}", arguments.front(), captured.output));
  return captured.output;
}

}  // namespace acid::bench
