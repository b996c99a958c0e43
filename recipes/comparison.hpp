#pragma once

#include <nlohmann/json.hpp>

#include "recipes/checker.hpp"
#include "recipes/plan.hpp"

namespace acid {

/// The keys of [comparison], for the reference.
const FieldTable& comparison_keys();

/// The table [comparison] of a recipe whose runs are planned: Plan::comparison, null where there is
/// no table. It says how the runs are compared and nothing about the runs. Reports what is wrong:
/// an outcome that some run does not have among it.
nlohmann::json read_comparison(const Node* comparison, const Plan& plan, Checker& checker);

/// Whether the run's workers take the same steps, so that its consensus distance is 0 by
/// construction.
bool always_agrees(const PlannedRun& run);

}  // namespace acid
