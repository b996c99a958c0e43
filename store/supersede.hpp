#pragma once

#include <cstdint>
#include <string>

#include "engine/recorder/recorder.hpp"
#include "store/sqlite.hpp"

namespace acid {

// What a new attempt of a run does to the earlier ones. All functions belong into the transaction
// that adds the attempt. Superseded rows stay in the tables, but no query shows them any more.

/// Supersedes everything that was recorded so far.
void supersede_everything(const sqlite::Connection& connection, std::int64_t run);

/// Supersedes what was recorded after a checkpoint. Returns the checkpoint's position. Throws
/// StoreError when it is not a checkpoint of the run or was superseded itself.
Position supersede_after(const sqlite::Connection& connection, std::int64_t run,
                         const std::string& run_id, std::int64_t checkpoint);

/// Gives an attempt that continues others their last values of whole-run series, as series without
/// values of their own, so that a query for the newest values need only look at this attempt.
void carry_last_values(const sqlite::Connection& connection, std::int64_t run,
                       std::int64_t attempt);

}  // namespace acid
