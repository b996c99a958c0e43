#pragma once

#include <nlohmann/json.hpp>

#include "recipes/checker.hpp"
#include "recipes/plan.hpp"

namespace acid {

/// The keys of [[claims]] and its kinds, for the reference.
const FieldTable& claim_keys();

/// The list [[claims]] of a recipe with planned runs, each claim complete, as reports/claims.hpp
/// reads it; null without claims. Reports mistakes, such as an algorithm that no run has.
nlohmann::json read_claims(const Node* claims, const Plan& plan, Checker& checker);

}  // namespace acid
