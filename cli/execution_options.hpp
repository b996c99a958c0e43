#pragma once

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

}  // namespace acid
