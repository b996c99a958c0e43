#pragma once

#include <string>

#include "store/queries.hpp"

namespace acid {

/// A process for the run was started and ended before it began an attempt; `why` in its words. Of a
/// run that was never executed this leaves a failed attempt; an interrupted one keeps what it has,
/// and says why it did not go on. What has a result stays as it is. Where the store cannot be
/// written nothing is left: others still go on.
void record_failed_start(const std::string& store_folder, const RunDetail& run,
                         const std::string& why);

}  // namespace acid
