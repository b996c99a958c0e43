#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "recipes/diagnostics.hpp"
#include "recipes/facts.hpp"
#include "recipes/plan.hpp"
#include "recipes/sections.hpp"
#include "recipes/unused.hpp"

namespace acid {

/// Checks sections against each other and turns a draft into one run per seed, with ids and
/// digests, which it also shows to `unused`. `tree`: for the places of problems. Reports mistakes
/// and then returns no runs; broken sections are skipped.
std::vector<PlannedRun> resolve(const Node& tree, const Draft& draft, const std::string& label,
                                std::span<const std::uint64_t> seeds, Facts& facts,
                                UnusedKeys& unused, Diagnostics& diagnostics);

}  // namespace acid
