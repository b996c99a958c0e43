#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/comparison.hpp"
#include "reports/planned_places.hpp"

namespace acid {

/// A run that is still to be made: what a comparison will know about it.
struct PlannedOutcome {
  std::string group, algorithm, label;
  std::uint64_t seed = 0;
  nlohmann::json settings;
  bool has_gradients = true;
  bool always_agrees = false;  // its workers agree by construction: consensus distances are 0
  std::set<std::string, std::less<>> lacks = {};  // outcomes that it will not have
  PlannedCourse course = {};
};

/// The number of comparisons in one family: the places where runs end are not always known before.
struct PlannedFamily {
  std::size_t fewest = 0, most = 0;
  bool is_known() const { return fewest == most; }
};

/// A margin, and the comparisons that are tested with it.
struct PlannedMargin {
  std::string metric;
  Margin margin;
  PlannedFamily family;
};

/// What a verdict over planned runs will be about, and how many seeds it needs.
struct PlannedVerdict {
  std::string primary;              // outcome that decides
  std::string decided_by;           // the reason for it: "the task", "[comparison] primary", …
  std::string baseline;             // label
  PlannedFamily comparisons;        // one family; none: nothing to compare
  std::size_t at_ends = 0;          // of these; the others are where all have come equally far
  std::size_t settings = 1;         // sweep points
  std::vector<PositionAxis> equal;  // axes of these places, certain or possible
  std::vector<PlannedMargin> margins;
  int seeds = 0;                       // of each comparison
  double smallest_p = 1;               // that so many seeds can give, after Holm's correction
  std::optional<double> effect_shown;  // with kPower, in standard deviations of paired differences
  /// The fewest seeds that can show a difference, for the fewest and the most comparisons.
  int seeds_needed = 0, seeds_needed_for_all = 0;
  bool too_few() const { return comparisons.most > 0 && seeds < seeds_needed; }
  bool may_be_too_few() const { return comparisons.most > 0 && seeds < seeds_needed_for_all; }
};
/// The comparison that a report will make of these runs, with made-up outcomes; its family is
/// counted. `plan`: what the recipe says about comparing.
PlannedVerdict planned_verdict(const std::vector<PlannedOutcome>& runs,
                               const ComparisonPlan& plan = {});

/// "6 seeds, but 11 are needed for any difference to be shown: 2/2^11 × 40 comparisons (Holm's
/// correction) = 0.039", "8 seeds may not suffice: …"; empty where the seeds are enough.
std::string too_few_words(const PlannedVerdict& verdict);
/// The deciding metric, its comparisons, and the seeds they need: lines of at most `columns`. Empty
/// if nothing will be compared.
std::string words_of(const PlannedVerdict& verdict, int columns = 100);
/// "36 comparisons to AR-SGD at 4 settings: 12 where each run ends, 24 at equal time and bytes".
std::string family_words(const PlannedVerdict& verdict);
/// {"primary", "decided_by", "baseline", "comparisons", "comparisons_at_least", "at_ends",
/// "settings", "equal": [axis], "margins": {metric: {"value", "relative", "seeds_needed",
/// "seeds_needed_for_all"}}, "seeds", "seeds_needed", "seeds_needed_for_all", "smallest_p",
/// "power", "effect_shown"}; null if nothing will be compared.
nlohmann::json to_json(const PlannedVerdict& verdict);

}  // namespace acid
