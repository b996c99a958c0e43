// Notes on differences that decide nothing, and on the baseline of consensus distances.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/compare_notes.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/primary.hpp"

namespace acid {
namespace {

/// Metrics with a test, each once.
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
  comparison.notes.push_back(
      {NoteKind::consensus_baseline,
       fmt::format("consensus distances are tested against {}, {}",
                   consensus_baseline_label(comparison), comparison.consensus_baseline_words),
       {},
       metrics});
}

void note_rounding(Comparison& comparison) {
  std::vector<const ComparedDifference*> largest;  // of each metric
  for (const ComparedDifference& one : comparison.differences) {
    if (one.value.rounded == 0 || is_counted(one.metric)) continue;
    const auto known = std::ranges::find(largest, one.metric, &ComparedDifference::metric);
    if (known == largest.end())
      largest.push_back(&one);
    else if ((*known)->rounding < one.rounding)
      *known = &one;
  }
  if (largest.empty()) return;
  RunRounding worse;
  std::vector<std::string> sizes, metrics;
  for (const ComparedDifference* one : largest) {
    worse.take_worse(group_of(comparison, one->group).rounding);
    worse.take_worse(group_of(comparison, one->baseline).rounding);
    metrics.push_back(one->metric);
    sizes.push_back(
        fmt::format("in {} up to {}{}", one->metric, format_number(one->rounding, 2),
                    one->rounding_share < 1
                        ? fmt::format(" ({} of the value)", format_number(one->rounding_share, 2))
                        : ""));
  }
  comparison.notes.push_back(
      {NoteKind::rounding,
       fmt::format("differences {} are rounding and decide nothing: parameters of 32 bits, {} "
                   "steps and {} exchanges of a worker",
                   fmt::join(sizes, ", "), format_number(worse.steps, 4),
                   format_number(worse.exchanges, 4)),
       {},
       metrics});
}

GroupNotes notes_of(Comparison& comparison, const std::string& group) {
  const auto g = static_cast<std::size_t>(&group_of(comparison, group) - comparison.groups.data());
  const auto point = std::ranges::find_if(comparison.points, [&](const ComparedPoint& one) {
    return std::ranges::find(one.groups, g) != one.groups.end();
  });
  return {comparison, static_cast<std::size_t>(point - comparison.points.begin()), g};
}

/// Notes differences that lines between samples may cause.
void note_hidden(Comparison& comparison) {
  for (const ComparedDifference& one : comparison.differences) {
    if (!one.is_hidden()) continue;
    GroupNotes notes = notes_of(comparison, one.group);
    notes.add(NoteKind::hidden,
              fmt::format("{}: {}: the difference to {}, {}, is less than the lines between "
                          "samples may be off there, {}, and decides nothing (p = 1); evaluate "
                          "more often",
                          one.metric, notes.name(), group_of(comparison, one.baseline).label,
                          with_minus(format_number(one.value.difference.mean, 2)),
                          format_number(one.hidden, 2)),
              {one.metric});
  }
}

/// Notes seeds of which a run ended before the other reached the target.
void note_unordered(Comparison& comparison) {
  for (const ComparedDifference& one : comparison.differences) {
    if (one.unordered == 0) continue;
    GroupNotes notes = notes_of(comparison, one.group);
    notes.add(NoteKind::unordered,
              fmt::format("{}: {}: with {} of {} seeds its run or that of {} ended short of the "
                          "target before the other reached it, so which is sooner is not known, "
                          "and they count as equal; a longer budget would tell",
                          one.metric, notes.name(), one.unordered, one.value.pairs,
                          group_of(comparison, one.baseline).label),
              {one.metric});
  }
}

/// Notes an outcome of the recipe in which nothing here can be tested.
void note_untested(Comparison& comparison) {
  const std::string& primary = comparison.primary;
  if (primary.empty() || comparison.groups.size() < 2 || comparison.plan.primary != primary) return;
  if (std::ranges::find(comparison.differences, primary, &ComparedDifference::metric) !=
      comparison.differences.end())
    return;
  comparison.notes.push_back(
      {NoteKind::other_primary,
       fmt::format("{}, the primary outcome of the recipe, is of no two algorithms here, so there "
                   "is no verdict{}",
                   primary,
                   is_consensus(primary)
                       ? ": consensus distances are tested against an algorithm of pairwise "
                         "exchanges, or the one that [comparison] consensus_baseline names"
                       : "")});
}

}  // namespace

void note_outcome(Comparison& comparison) {
  note_consensus_baseline(comparison);
  note_untested(comparison);
  note_rounding(comparison);
  note_hidden(comparison);
  note_unordered(comparison);
}

}  // namespace acid
