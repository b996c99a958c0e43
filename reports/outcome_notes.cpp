#include "reports/outcome_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/equal_places.hpp"
#include "reports/numbers.hpp"
#include "reports/primary.hpp"

namespace acid {
namespace {

void note_consensus_baseline(Comparison& comparison) {
  const bool any = std::ranges::any_of(comparison.differences, [](const ComparedDifference& one) {
    return is_consensus(one.metric) && one.value.p;
  });
  if (!any) return;
  comparison.notes.push_back(fmt::format(
      "consensus distances are tested against {}, {}", consensus_baseline_label(comparison),
      comparison.plan.consensus_baseline.empty() ? "the first algorithm of pairwise exchanges"
                                                 : "as the recipe says"));
}

void note_rounding(Comparison& comparison) {
  const ComparedDifference* largest = nullptr;
  for (const ComparedDifference& one : comparison.differences)
    if (is_claim(comparison, one.metric) && one.value.rounded > 0 &&
        (largest == nullptr || largest->rounding < one.rounding))
      largest = &one;
  if (largest == nullptr) return;
  RunRounding worse = group_of(comparison, largest->group).rounding;
  worse.take_worse(group_of(comparison, largest->baseline).rounding);
  comparison.notes.push_back(fmt::format(
      "differences in {} up to {} ({} of the value) are rounding and decide nothing: parameters of "
      "32 bits, {} steps and {} exchanges of a worker",
      largest->metric, format_number(largest->rounding, 2),
      format_number(largest->rounding_share, 2), format_number(worse.steps, 4),
      format_number(worse.exchanges, 4)));
}

}  // namespace

void note_outcome(Comparison& comparison) {
  note_consensus_baseline(comparison);
  note_rounding(comparison);
}

}  // namespace acid
