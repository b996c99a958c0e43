#pragma once

#include "engine/run/run_spec.hpp"
#include "store/store.hpp"

namespace acid {

/// What the store keeps of how an execution ended, its files apart.
AttemptResult result_of(const Outcome& outcome, const RunSpec& spec);

}  // namespace acid
