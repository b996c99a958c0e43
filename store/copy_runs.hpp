#pragma once

#include <string>

#include "store/queries.hpp"

namespace acid {

/// Makes a store in `folder`, which must not hold one yet, with these runs of another and all that
/// belongs to them: the experiments that they were named by, or all that ask for them, attempts,
/// values, events, digests, verifications and final models. Checkpoints are noted as let go of:
/// their digests stay, which is what verifying takes. The copy is of one moment, a plain database
/// without a write-ahead log, so that reading it leaves nothing beside it, and has the same bytes
/// for the same content. UsageError when a run does not exist, StoreError when a model is missing
/// or altered, or when the copy cannot be written. Thread: that of the Store.
void copy_runs(const Store& store, const AskedRuns& asked, const std::string& folder);

}  // namespace acid
