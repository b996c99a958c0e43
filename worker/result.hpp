#pragma once

#include "engine/run/run_spec.hpp"
#include "store/store.hpp"

namespace acid {

/// The store's record of how an execution ended, without its files.
AttemptResult result_of(const Outcome& outcome, const RunSpec& spec);

}  // namespace acid
