#pragma once

#include <nlohmann/json.hpp>

#include "recipes/checker.hpp"
#include "recipes/plan.hpp"

namespace acid {

/// The keys of [comparison], for the reference.
const FieldTable& comparison_keys();

/// The table [comparison] of a recipe with planned runs, as Plan::comparison; null if there is no
/// table. Reports mistakes, such as an outcome that some run does not have.
nlohmann::json read_comparison(const Node* comparison, const Plan& plan, Checker& checker);

/// Whether all workers take the same steps, so that the consensus distance is always 0.
bool always_agrees(const PlannedRun& run);

}  // namespace acid
