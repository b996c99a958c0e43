#pragma once

#include <vector>

#include "recipes/plan.hpp"
#include "reports/planned_verdict.hpp"

namespace acid {

/// What the verdict over a plan's runs takes; of a search those of the values chosen, one in each
/// cell.
PlannedVerdict verdict_of(const Plan& plan);

}  // namespace acid
