#pragma once

#include <string>
#include <vector>

#include "cli/worker_compose.hpp"
#include "cli/worker_recording.hpp"

namespace acid {

/// What the store says of a run and is not so, as far as it takes no execution to see that: that
/// its digest, seed, method and graph are those of its settings, that its files and the summaries
/// of its series are as they were written. `changed`: differences() (worker_resume.hpp), for the
/// data. A sentence each; empty: nothing. Throws Error when a file that the settings name cannot be
/// read.
std::vector<std::string> false_claims(const Recording& recording, const ComposedRun& run,
                                      const nlohmann::json& changed);

}  // namespace acid
