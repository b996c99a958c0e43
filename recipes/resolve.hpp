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

/// What makes sections fit each other: turns a draft into one run per seed, ids and digests
/// included, and tells `unused` of them. `tree` is where problems are pointed at. Reports, and
/// returns no runs, when something is wrong; sections that are broken by themselves are left alone.
std::vector<PlannedRun> resolve(const Node& tree, const Draft& draft, const std::string& label,
                                std::span<const std::uint64_t> seeds, Facts& facts,
                                UnusedKeys& unused, Diagnostics& diagnostics);

}  // namespace acid
