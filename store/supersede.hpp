#pragma once

#include <cstdint>
#include <string>

#include "engine/recorder/recorder.hpp"
#include "store/sqlite.hpp"

namespace acid {

// What a new attempt of a run does to the earlier ones. All belong into the transaction that adds
// it. What is superseded stays in the tables, but no query shows it any more.

/// Nothing that was recorded so far counts.
void supersede_everything(const sqlite::Connection& connection, std::int64_t run);

/// What was recorded after a checkpoint does not count. Returns where the checkpoint stands. Throws
/// StoreError when it is not one of the run or was superseded itself.
Position supersede_after(const sqlite::Connection& connection, std::int64_t run,
                         const std::string& run_id, std::int64_t checkpoint);

/// Gives an attempt that continues others their last values of whole-run series, as series without
/// a value of its own, so that a query for the newest values need only look at it.
void carry_last_values(const sqlite::Connection& connection, std::int64_t run,
                       std::int64_t attempt);

}  // namespace acid
