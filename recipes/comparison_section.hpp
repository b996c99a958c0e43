#pragma once

#include <nlohmann/json.hpp>

#include "recipes/checker.hpp"
#include "recipes/plan.hpp"

namespace acid {

/// The keys of [comparison], for the reference.
const FieldTable& comparison_keys();

/// The keys of [[claims]] and its kinds.
const FieldTable& claim_keys();

/// What a recipe with planned runs says of comparing them, [comparison] and [[claims]], as
/// Plan::comparison; null if it says nothing. Reports mistakes, such as an outcome that some run
/// does not have.
nlohmann::json read_comparison(const Node& root, const Plan& plan, Checker& checker);

/// The list [[claims]] of a recipe, each claim complete, as reports/claims.hpp reads it; null
/// without claims. Reports mistakes. A part of read_comparison().
nlohmann::json read_claims(const Node* claims, const Plan& plan, Checker& checker);

/// Whether every run has an outcome of this name; reports at `place` why not. `what`: "the primary
/// outcome".
bool check_outcome(const Place& place, std::string_view what, const std::string& metric,
                   const Plan& plan, Checker& checker);
/// A difference in a metric that does not matter, {"value", "relative"}; null after reporting why
/// it is none. `may_exceed_all`: "100 %" and more make sense, as in twice as many.
nlohmann::json read_margin(const Node& margin, const std::string& metric, Checker& checker,
                           bool may_exceed_all = false);

/// Whether all workers take the same steps, so that the consensus distance is always 0.
bool always_agrees(const PlannedRun& run);

}  // namespace acid
