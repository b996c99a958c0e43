#include "cli/execution_options.hpp"

#include "cli/terminal/commands.hpp"

namespace acid {

void add_jobs_option(CLI::App& command, std::size_t& jobs, const std::string& help) {
  add_value(command, "--jobs", jobs, "N", help)->check(CLI::Range(1, 1024).description(""));
}

void ExecutionOptions::add_to(CLI::App& command) {
  add_jobs_option(command, executor.jobs,
                  "Runs at a time. Default 1: the virtual driver uses every core by itself, and "
                  "runs side by side disturb each other's wall clock");
  command.add_flag("--allow-changed", executor.allow_changed,
                   "Continue runs although acid or their data files have changed since; the "
                   "difference is recorded");
  auto* going = command.add_flag("--keep-going", keep_going,
                                 "Go on with the other runs when one fails (default)");
  command.add_flag("--fail-fast", executor.fail_fast, "Stop when a run fails")->excludes(going);
}

}  // namespace acid
