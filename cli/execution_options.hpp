#pragma once

#include "cli/processes/executor.hpp"

namespace CLI {
class App;
}

namespace acid {

/// What `acid run` and `acid resume` can be told about how runs are executed.
struct ExecutionOptions {
  ExecutorOptions executor;
  bool keep_going = false;

  /// --jobs, --allow-changed, --keep-going and --fail-fast.
  void add_to(CLI::App& command);
};

}  // namespace acid
