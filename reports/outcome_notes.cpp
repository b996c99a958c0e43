#include "reports/outcome_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/equal_places.hpp"
#include "reports/numbers.hpp"
#include "reports/primary.hpp"

namespace acid {
namespace {

/// Those of which something is tested, each once.
template <class Predicate>
std::vector<std::string> tested_metrics(const Comparison& comparison, Predicate predicate) {
  std::vector<std::string> metrics;
  for (const ComparedDifference& one : comparison.differences)
    if (one.value.p && predicate(one.metric) &&
        std::ranges::find(metrics, one.metric) == metrics.end())
      metrics.push_back(one.metric);
  return metrics;
}

void note_consensus_baseline(Comparison& comparison) {
  const std::vector<std::string> metrics =
      tested_metrics(comparison, [](const std::string& metric) { return is_consensus(metric); });
  if (metrics.empty()) return;
  comparison.notes.push_back({NoteKind::consensus_baseline,
                              fmt::format("consensus distances are tested against {}, {}",
                                          consensus_baseline_label(comparison),
                                          comparison.plan.consensus_baseline.empty()
                                              ? "the first algorithm of pairwise exchanges"
                                              : "as the recipe says"),
                              {},
                              metrics});
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
  comparison.notes.push_back(
      {NoteKind::rounding,
       fmt::format("differences in {} up to {} ({} of the value) are rounding and decide nothing: "
                   "parameters of 32 bits, {} steps and {} exchanges of a worker",
                   largest->metric, format_number(largest->rounding, 2),
                   format_number(largest->rounding_share, 2), format_number(worse.steps, 4),
                   format_number(worse.exchanges, 4)),
       {},
       tested_metrics(comparison,
                      [&](const std::string& metric) { return is_claim(comparison, metric); })});
}

}  // namespace

void note_outcome(Comparison& comparison) {
  note_consensus_baseline(comparison);
  note_rounding(comparison);
}

}  // namespace acid
