#include "reports/planned_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/base/names.hpp"
#include "reports/compare_notes.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"

namespace acid {
namespace {

void set_end(Position& position, PositionAxis axis, double end) {
  if (axis == PositionAxis::gradients) position.gradients = static_cast<std::int64_t>(end);
  if (axis == PositionAxis::seconds) position.seconds = end;
  if (axis == PositionAxis::bytes) position.bytes = static_cast<std::int64_t>(end);
}

/// All that a comparison can be decided by, so that whatever decides this one is among it.
void make_up_outcomes(ComparedRun& run, bool always_agrees, bool any_target) {
  const double value = std::stod(run.summary.id);
  std::map<std::string, double>& metrics = run.summary.metrics;
  for (const OutcomeMetric& outcome : kOutcomes) metrics[std::string(outcome.name)] = value;
  if (always_agrees) metrics[kMidConsensus] = 0;
  for (const std::string_view outcome : outcomes_at_equal())
    for (const auto& [axis, place] : run.equal)
      if (!place.at_end && place.place > 0) metrics[metric_at_equal(outcome, axis)] = value;
  if (any_target)
    for (const OutcomeMetric& way : kWaysToTarget) metrics[std::string(way.name)] = value;
}

/// A finished run. An end that is not known differs from seed to seed.
ComparedRun made_up(const PlannedOutcome& planned, std::size_t number, std::uint64_t seed) {
  ComparedRun run;
  run.summary.id = fmt::format("{}", number);
  run.summary.group = planned.group;
  run.summary.algorithm = planned.algorithm;
  run.summary.label = planned.label;
  run.summary.seed = seed;
  run.summary.state = RunState::finished;
  run.settings = planned.settings;
  if (!planned.has_gradients) run.summary.budget_time = 1;
  for (const auto& [axis, end] : planned.ends)
    set_end(run.summary.progress, axis, end ? *end : 1000.0 * static_cast<double>(seed));
  return run;
}

std::string axis_words(PositionAxis axis) {
  return std::string(axis == PositionAxis::seconds ? "time" : name_of(axis));
}

}  // namespace

PlannedVerdict planned_verdict(const std::vector<PlannedOutcome>& planned,
                               const ComparisonPlan& plan) {
  PlannedVerdict verdict;
  std::map<std::string, std::set<std::uint64_t>> seeds;  // by group
  std::set<std::string> agreeing;                        // of those groups
  std::vector<ComparedRun> runs;
  for (const PlannedOutcome& one : planned)
    // Two seeds each are enough for a p, and a family is as large with any number of them.
    if (seeds[one.group].insert(one.seed).second && seeds[one.group].size() == 1)
      for (const std::uint64_t seed : {1, 2}) runs.push_back(made_up(one, runs.size() + 1, seed));
  if (seeds.size() < 2) return verdict;
  find_equal_places(runs);
  for (const PlannedOutcome& one : planned)
    if (one.always_agrees) agreeing.insert(one.group);
  const bool any_target = std::ranges::any_of(runs, [](const ComparedRun& run) {
    return target_of(run.settings, std::nullopt).has_value();
  });
  for (ComparedRun& run : runs)
    make_up_outcomes(run, agreeing.contains(run.summary.group), any_target);
  const Comparison comparison = compare_runs(std::move(runs), {}, {}, {plan});
  std::set<PositionAxis> equal;
  for (const EqualPlace& place : comparison.equal)
    if (!place.at_end) equal.insert(place.axis);
  for (const ComparedDifference& one : comparison.differences) {
    if (!is_claim(comparison, one.metric)) continue;
    verdict.comparisons = static_cast<std::size_t>(one.family);
    verdict.baseline = group_of(comparison, one.baseline).label;
    verdict.at_ends += is_at_equal_place(one.metric) ? 0 : 1;
  }
  if (verdict.comparisons == 0) return verdict;
  verdict.settings = comparison.points.size();
  if (verdict.at_ends < verdict.comparisons) verdict.equal = {equal.begin(), equal.end()};
  std::size_t fewest = seeds.begin()->second.size();
  for (const auto& [group, own] : seeds) fewest = std::min(fewest, own.size());
  verdict.seeds = static_cast<int>(fewest);
  verdict.seeds_needed = seeds_needed(verdict.comparisons);
  verdict.smallest_p =
      std::min(1.0, smallest_p(verdict.seeds) * static_cast<double>(verdict.comparisons));
  verdict.effect_shown = effect_shown(verdict.seeds, verdict.comparisons);
  return verdict;
}

std::string too_few_words(const PlannedVerdict& verdict) {
  if (!verdict.too_few()) return "";
  return fmt::format(
      "{}, but {} are needed for any difference to be shown: 2/2^{} × {} (Holm's correction) = {}",
      counted(static_cast<std::uint64_t>(verdict.seeds), "seed"), verdict.seeds_needed,
      verdict.seeds_needed, counted(verdict.comparisons, "comparison"),
      format_number(smallest_p(verdict.seeds_needed) * static_cast<double>(verdict.comparisons),
                    2));
}

std::string family_words(const PlannedVerdict& verdict) {
  std::vector<std::string> axes;
  for (const PositionAxis axis : verdict.equal) axes.push_back(axis_words(axis));
  const std::string last = axes.empty() ? "" : axes.back();
  if (!axes.empty()) axes.pop_back();
  return fmt::format("{} to {}{}{}", counted(verdict.comparisons, "comparison"), verdict.baseline,
                     verdict.settings > 1 ? fmt::format(" at {} settings", verdict.settings) : "",
                     last.empty()
                         ? ""
                         : fmt::format(": {} at the ends, {} at equal {}{}{}", verdict.at_ends,
                                       verdict.comparisons - verdict.at_ends, fmt::join(axes, ", "),
                                       axes.empty() ? "" : " and ", last));
}

nlohmann::json to_json(const PlannedVerdict& verdict) {
  if (verdict.comparisons == 0) return nullptr;
  std::vector<std::string> equal;
  for (const PositionAxis axis : verdict.equal) equal.emplace_back(name_of(axis));
  return {{"baseline", verdict.baseline},
          {"comparisons", verdict.comparisons},
          {"at_ends", verdict.at_ends},
          {"settings", verdict.settings},
          {"equal", equal},
          {"seeds", verdict.seeds},
          {"seeds_needed", verdict.seeds_needed},
          {"smallest_p", verdict.smallest_p},
          {"power", kPower},
          {"effect_shown",
           verdict.effect_shown ? nlohmann::json(*verdict.effect_shown) : nlohmann::json()}};
}

}  // namespace acid
