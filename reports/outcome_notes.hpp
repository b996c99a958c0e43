#pragma once

#include "reports/compare.hpp"

namespace acid {

/// What decides the verdict besides p: whom consensus distances are tested against, and below what
/// size differences of the primary outcome were taken for none.
void note_outcome(Comparison& comparison);

}  // namespace acid
