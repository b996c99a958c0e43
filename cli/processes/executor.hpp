#pragma once

#include <string>
#include <vector>

#include "cli/processes/share.hpp"
#include "engine/base/error.hpp"
#include "store/queries.hpp"

namespace CLI {
class App;
}

namespace acid {

/// How runs are executed.
struct ExecutorOptions {
  std::string worker;  // path of acid-worker
  std::string store_folder;
  std::size_t jobs = 1;        // runs at a time
  bool fresh = false;          // from the beginning, even if there are checkpoints
  bool allow_changed = false;  // continue although acid or the data have changed
  bool fail_fast = false;      // begin no other run when one fails
  Share share;                 // for who chooses the runs; execute() takes them as they are

  /// --jobs, --allow-changed, --keep-going and --fail-fast.
  void add_to(CLI::App& command);
};

struct Executed {
  Exit exit = Exit::ok;
  bool interrupted = false;  // a signal stopped this process, not only a worker
};

/// Executes runs, each in an acid-worker process, in order and at most `jobs` at a time, with
/// progress on standard error. A worker continues its run from the newest good checkpoint. A worker
/// that a signal kills is started again, as often as execution.max_restarts of its run allows;
/// where the death cannot be seen from this host, it is started again once its lease has ended. A
/// run that another living process executes is waited for at the end, and taken over when that
/// process leaves it unfinished.
///
/// Returns ok when all have finished, else the worse() of: run_failed when one failed, diverged or
/// could not be started, usage when a worker refused to continue one, store when a worker could not
/// use the store, interrupted when a signal stopped it or a worker; runs that had finished by then
/// are kept. StoreError when it cannot read the store itself: running workers are stopped first and
/// get half a minute to save.
Executed execute(const ExecutorOptions& options, const Store& store,
                 const std::vector<RunSummary>& runs);

}  // namespace acid
