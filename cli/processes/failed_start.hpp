#pragma once

#include <string>

#include "store/queries.hpp"

namespace acid {

/// Records that a process for the run was started and ended before it began an attempt; `why`: its
/// own words. A run that was never executed gets a failed attempt; an interrupted run keeps what it
/// has, and its message says why it did not go on. A run with a result stays as it is. Where the
/// store cannot be written nothing is recorded: other runs still go on.
void record_failed_start(const std::string& store_folder, const RunDetail& run,
                         const std::string& why);

}  // namespace acid
