#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/worker_compose.hpp"
#include "cli/worker_recording.hpp"

namespace acid {

/// Whether a run's settings are certainly not those that its digest is of. Of settings that name
/// files nobody can say: the files may have changed.
bool settings_are_altered(const RunDetail& run);
/// Throws StoreError when they are: they were checked before they were stored, and may now be
/// anything.
void refuse_altered_settings(const RunDetail& run);

/// compose() of a run's settings as they are stored. Where that fails and altered settings explain
/// it, the StoreError says so.
std::unique_ptr<ComposedRun> compose_stored(const RunDetail& run, int cores);

/// What the store says of a run and is not so, as far as it takes no execution to see that: that
/// its digest, seed, method and graph are those of its settings, that its files and the summaries
/// of its series are as they were written. `changed`: differences() (worker_resume.hpp), for the
/// data. A sentence each; empty: nothing. Throws Error when a file that the settings name cannot be
/// read.
std::vector<std::string> false_claims(const Recording& recording, const ComposedRun& run,
                                      const nlohmann::json& changed);

}  // namespace acid
