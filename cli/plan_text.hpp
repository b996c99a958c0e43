#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "recipes/plan.hpp"
#include "reports/planned_verdict.hpp"

namespace acid {

/// The number of runs, before anything else is known.
std::string text_of_count(const Plan& plan);
/// The cells of the sweep of which nothing runs; empty if there is none.
std::string text_of_left_out(const Plan& plan);
/// What `acid plan` says below its table: what all runs share, their data, their graphs, the
/// verdict. With `most`, short: of what all share no defaults, at most so many lines of each
/// section, and none longer than a line of the screen.
std::string text_of_sections(const Plan& plan, const PlannedVerdict& verdict,
                             std::optional<std::size_t> most = std::nullopt);

}  // namespace acid
