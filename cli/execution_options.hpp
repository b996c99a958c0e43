#pragma once

#include <cstddef>
#include <string>

#include "cli/processes/executor.hpp"

namespace CLI {
class App;
}

namespace acid {

/// The options of `acid run` and `acid resume` that set how runs are executed.
struct ExecutionOptions {
  ExecutorOptions executor;
  bool keep_going = false;

  /// --jobs, --allow-changed, --keep-going and --fail-fast.
  void add_to(CLI::App& command);
};

/// --jobs, with this help.
void add_jobs_option(CLI::App& command, std::size_t& jobs, const std::string& help);

}  // namespace acid
