#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/terminal/commands.hpp"
#include "reports/claims.hpp"
#include "store/queries.hpp"

namespace acid {

/// What a recipe's file, or the experiments of named runs, claim. `overrides`: --set of the recipe.
/// UsageError if nothing is claimed, or if no run of it is in the store.
std::vector<Claimed> claimed_by(const Store& store, const std::vector<std::string>& names,
                                const std::vector<std::string>& overrides = {});

void add_claim_check(CLI::App& claim, Session& session);

}  // namespace acid
