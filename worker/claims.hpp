#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/compose.hpp"
#include "worker/recording.hpp"

namespace acid {

/// Whether a run's digest is that of its settings and of the files that they name. Else one of them
/// changed, or the settings, which were checked before they were stored, may be anything.
bool settings_have_their_digest(const RunDetail& run);
/// Throws StoreError when it is not although the settings name no files: then somebody altered
/// them.
void refuse_altered_settings(const RunDetail& run);

/// A run's settings as they are stored, and compose() of them. Where that fails and altered
/// settings explain it, the StoreError says so.
RunSettings stored_settings(const RunDetail& run);
std::unique_ptr<ComposedRun> compose_stored(const RunDetail& run, const RunSettings& settings,
                                            int cores);

/// What the store says of a run and is not so, as far as it takes no execution to see that: that
/// its digest, seed, method and graph are those of its settings, that its files and the summaries
/// of its series are as they were written. `changed`: differences() (resume.hpp), for the
/// data. A sentence each; empty: nothing. Throws Error when a file that the settings name cannot be
/// read.
std::vector<std::string> false_claims(const Recording& recording, const ComposedRun& run,
                                      const nlohmann::json& changed);

}  // namespace acid
