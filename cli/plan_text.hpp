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
/// What of the sections there is room for.
struct SectionLimits {
  std::size_t sections;  // the first ones
  std::size_t lines;     // of each
};
inline constexpr std::size_t kSections = 10;
/// What `acid plan` says below its table: what all runs share, their data, their graphs, the
/// verdict. With `limits`, short: of what all share no defaults, the verdict whole, and no line
/// longer than one of the screen.
std::string text_of_sections(const Plan& plan, const PlannedVerdict& verdict,
                             std::optional<SectionLimits> limits = std::nullopt);

}  // namespace acid
