#pragma once

#include <string>
#include <vector>

#include "settings/run_settings.hpp"

namespace acid {

/// Checked before anything is written. Throws UsageError where this host lacks what runs of a
/// recipe need: LibTorch, a launcher, room for the processes of a run, a GPU. May start `worker`,
/// the path of acid-worker, for some seconds, to look for one.
void require_what_runs_need(const std::vector<RunSettings>& runs, const std::string& recipe,
                            const std::string& worker);

/// Whether the user has started acid once for each worker (execution.mpi.launcher = "none") and
/// this is rank 0, for whose worker the other ranks wait, even if it has nothing to do: they become
/// workers here, and do not return. Throws UsageError if there are several runs.
bool is_awaited(const std::vector<RunSettings>& runs, const std::string& worker);

}  // namespace acid
