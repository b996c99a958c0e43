#pragma once

#include <string>

#include "store/queries.hpp"

namespace acid {

/// left_out: their rows are marked as let go of, as those of checkpoints are; digests stay.
enum class FinalModels { copied, left_out };

/// Makes a store in `folder`, which must not hold one yet, with these runs of another store and all
/// that belongs to them: attempts, values, events, digests, verifications, final models, and the
/// experiments by which the runs were named, else all that ask for them. Checkpoints are marked as
/// let go of: their digests, which verifying needs, stay. The copy shows one moment. It is a plain
/// database without a write-ahead log, so that reading it leaves nothing beside it, and has the
/// same bytes for the same content. UsageError when a run does not exist, StoreError when a model
/// is missing or altered, or when the copy cannot be written. Thread: that of the Store.
void copy_runs(const Store& store, const AskedRuns& asked, const std::string& folder,
               FinalModels models = FinalModels::copied);

}  // namespace acid
