#pragma once

#include <vector>

#include "recipes/plan.hpp"
#include "reports/planned_verdict.hpp"

namespace acid {

/// The number of comparisons and tests in the verdict over a plan's runs; for a search, over the
/// chosen values, one in each cell.
PlannedVerdict verdict_of(const Plan& plan);

}  // namespace acid
