#pragma once

#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "store/queries.hpp"

namespace acid {

struct ExecutorOptions {
  std::string worker;  // path of acid-worker
  std::string store_folder;
  std::size_t jobs = 1;  // runs at a time
  bool fail_fast = false;
};

/// Executes runs, each in an acid-worker process, in order and at most `jobs` at a time, with
/// progress on standard error. A run that another living process executes is waited for at the end,
/// and taken over when that process leaves it unfinished. Returns ok when all have finished,
/// run_failed when one failed or diverged, store when the store could not be used, interrupted
/// when a signal stopped it; what had finished by then is kept.
Exit execute(const ExecutorOptions& options, const Store& store,
             const std::vector<RunSummary>& runs);

}  // namespace acid
