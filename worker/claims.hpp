#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/compose.hpp"
#include "worker/recording.hpp"

namespace acid {

/// Whether a run's digest is that of its settings and of the files that they name. If not, a file
/// changed, or the settings, which were checked before they were stored, may hold anything.
bool settings_have_their_digest(const RunDetail& run);
/// Throws StoreError when the digest is not that of the settings although the settings name no
/// files: then the settings were altered.
void refuse_altered_settings(const RunDetail& run);

/// Matrix products get the kernels that the run's last attempt had, so that its bits stay. Before
/// LibTorch is loaded.
void keep_blas_core(const RunDetail& run);

/// A run's stored settings, after compose() has accepted them. Where compose() fails and altered
/// settings explain it, the StoreError says so.
RunSettings stored_settings(const RunDetail& run);
std::unique_ptr<ComposedRun> compose_stored(const RunDetail& run, const RunSettings& settings,
                                            int cores);

/// Checks the store's claims about a run that need no execution: its digest, seed, method and graph
/// match its settings, its files and the summaries of its series are as they were written.
/// `changed`: differences() (resume.hpp), for the data. Returns a sentence for each false claim;
/// empty: none is false. Throws Error when a file that the settings name cannot be read.
std::vector<std::string> false_claims(const Recording& recording, const ComposedRun& run,
                                      const nlohmann::json& changed);

}  // namespace acid
