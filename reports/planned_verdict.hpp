#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare.hpp"

namespace acid {

/// A run that is still to be made: what a comparison will know of it.
struct PlannedOutcome {
  std::string group, algorithm, label;
  std::uint64_t seed = 0;
  nlohmann::json settings;
  bool has_gradients = true;
  bool always_agrees = false;  // its workers do, by construction: consensus distances are 0
  /// Where it will end; absent where only the run itself can tell.
  std::map<PositionAxis, std::optional<double>> ends;
};

/// What a verdict over planned runs will be about, and how many seeds it takes.
struct PlannedVerdict {
  std::string baseline;                // label
  std::size_t comparisons = 0;         // one family; 0: nothing to compare
  std::size_t at_ends = 0;             // of them; the others are where all have come equally far
  std::size_t settings = 1;            // sweep points
  std::vector<PositionAxis> equal;     // where these are, as far as samples allow to read there
  int seeds = 0;                       // of each comparison
  int seeds_needed = 0;                // at least, for any difference to be shown
  double smallest_p = 1;               // that so many seeds can give, after Holm's correction
  std::optional<double> effect_shown;  // with kPower, in standard deviations of paired differences
  bool too_few() const { return comparisons > 0 && seeds < seeds_needed; }
};
/// The comparison that a report will make of these runs, with made-up outcomes: its family is the
/// one that is counted here. `plan`: what the recipe says of comparing.
PlannedVerdict planned_verdict(const std::vector<PlannedOutcome>& runs,
                               const ComparisonPlan& plan = {});

/// "6 seeds, but 11 are needed for any difference to be shown: 2/2^11 × 40 comparisons (Holm's
/// correction) = 0.039"; empty where the seeds are enough.
std::string too_few_words(const PlannedVerdict& verdict);
/// "36 comparisons to AR-SGD at 4 settings: 12 at the ends, 24 at equal time and bytes".
std::string family_words(const PlannedVerdict& verdict);
/// {"baseline", "comparisons", "at_ends", "settings", "equal": [axis], "seeds", "seeds_needed",
/// "smallest_p", "power", "effect_shown"}; null where nothing will be compared.
nlohmann::json to_json(const PlannedVerdict& verdict);

}  // namespace acid
