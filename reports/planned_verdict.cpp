#include "reports/planned_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"
#include "reports/primary.hpp"
#include "reports/targets.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

/// Makes up all outcomes that can decide a comparison, so that the right one is among them.
void make_up_outcomes(ComparedRun& run, const PlannedOutcome& planned, bool any_target) {
  const double value = std::stod(run.summary.id);
  std::map<std::string, double>& metrics = run.summary.metrics;
  const auto has = [&](std::string_view outcome) { return !planned.lacks.contains(outcome); };
  for (const Metric& outcome : kOutcomes)
    if (has(outcome.name)) metrics[std::string(outcome.name)] = value;
  if (planned.always_agrees && has(kMidConsensus)) metrics[kMidConsensus] = 0;
  if (any_target)
    for (const Metric& way : kWaysToTarget) metrics[std::string(way.name)] = value;
}

/// A finished run.
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
  return run;
}

/// Runs of all groups, with what a comparison must know.
struct MadeUp {
  std::vector<ComparedRun> runs;
  std::map<std::string, PlannedCourse> courses;          // by group
  std::map<std::string, const PlannedOutcome*> planned;  // one of each group
  int seeds = 0;                                         // of the group with the fewest

  Comparison compare(const ComparisonPlan& plan, Untold untold) const {
    std::vector<ComparedRun> all = runs;
    const bool any_target = std::ranges::any_of(all, [](const ComparedRun& run) {
      return target_of(run.settings, std::nullopt).has_value();
    });
    for (ComparedRun& run : all) make_up_outcomes(run, *planned.at(run.summary.group), any_target);
    return compare_runs(std::move(all), {}, {}, {plan}, [&](Comparison& comparison) {
      plan_equal_places(comparison, courses, seeds, untold);
    });
  }
};

MadeUp made_up(const std::vector<PlannedOutcome>& planned) {
  MadeUp all;
  std::map<std::string, std::set<std::uint64_t>> seeds;  // by group
  for (const PlannedOutcome& one : planned) {
    all.courses.try_emplace(one.group, one.course);
    all.planned.try_emplace(one.group, &one);
    // Two seeds each are enough for a p, and the size of a family does not depend on their number.
    if (seeds[one.group].insert(one.seed).second && seeds[one.group].size() == 1)
      for (const std::uint64_t seed : {1, 2})
        all.runs.push_back(made_up(one, all.runs.size() + 1, seed));
  }
  for (const auto& [group, own] : seeds)
    all.seeds = all.seeds == 0 ? static_cast<int>(own.size())
                               : std::min(all.seeds, static_cast<int>(own.size()));
  return all;
}

/// The number of comparisons in a metric that count as one family.
std::size_t family_of(const Comparison& comparison, const std::string& metric) {
  for (const ComparedDifference& one : comparison.differences)
    if (one.metric == metric) return static_cast<std::size_t>(one.family);
  return 0;
}

std::string decided_by(const Comparison& comparison, const ComparisonPlan& plan) {
  if (!plan.primary.empty()) return "[comparison] primary";
  return is_way_to_target(comparison.primary) ? "budget.target" : "the task";
}

std::string equal_words(const std::vector<PositionAxis>& equal) {
  std::vector<std::string> axes;
  for (const PositionAxis axis : equal) axes.emplace_back(equal_words(axis));
  const std::string last = axes.back();
  axes.pop_back();
  return axes.empty() ? last : fmt::format("{} and {}", fmt::join(axes, ", "), last);
}

/// "7 seeds at least", "6 seeds at least, 9 if all of 9 comparisons are made".
std::string seeds_words(const PlannedFamily& family, int (*needed)(std::size_t comparisons)) {
  const int least = needed(family.fewest), all = needed(family.most);
  std::string words = fmt::format("{} at least", counted(least, "seed"));
  if (all > least)
    words += fmt::format(", {} if all of {} are made", all, counted(family.most, "comparison"));
  return words;
}

}  // namespace

PlannedVerdict planned_verdict(const std::vector<PlannedOutcome>& planned,
                               const ComparisonPlan& plan) {
  PlannedVerdict verdict;
  const MadeUp runs = made_up(planned);
  if (runs.courses.size() < 2) return verdict;
  const Comparison comparison = runs.compare(plan, Untold::most);
  const Comparison fewest = runs.compare(plan, Untold::fewest);
  const auto family = [&](const std::string& metric) {
    return PlannedFamily{family_of(fewest, metric), family_of(comparison, metric)};
  };
  std::set<PositionAxis> equal;
  for (const ComparedDifference& one : comparison.differences) {
    if (!is_claim(comparison, one.metric)) continue;
    verdict.baseline = group_of(comparison, one.baseline).label;
    verdict.at_ends += is_at_equal_place(one.metric) ? 0 : 1;
    for (const EqualPlace& place : comparison.equal)
      if (place.metric == one.metric) equal.insert(place.axis);
  }
  verdict.primary = comparison.primary;
  verdict.comparisons = family(comparison.primary);
  if (verdict.comparisons.most == 0) return verdict;
  verdict.decided_by = decided_by(comparison, plan);
  verdict.settings = comparison.points.size();
  verdict.equal = {equal.begin(), equal.end()};
  for (const auto& [metric, margin] : plan.margins)
    if (const PlannedFamily own = family(metric); own.most > 0)
      verdict.margins.push_back({metric, margin, own});
  verdict.seeds = runs.seeds;
  verdict.seeds_needed = seeds_needed(verdict.comparisons.fewest);
  verdict.seeds_needed_for_all = seeds_needed(verdict.comparisons.most);
  verdict.smallest_p =
      std::min(1.0, smallest_p(verdict.seeds) * static_cast<double>(verdict.comparisons.most));
  verdict.effect_shown = effect_shown(verdict.seeds, verdict.comparisons.most);
  return verdict;
}

std::string too_few_words(const PlannedVerdict& verdict) {
  const std::string seeds = counted(verdict.seeds, "seed");
  const auto [fewest, most] = verdict.comparisons;
  if (verdict.too_few())
    return fmt::format(
        "{}, but {} are needed for any difference to be shown: 2/2^{} × {} (Holm's correction) = "
        "{}{}",
        seeds, verdict.seeds_needed, verdict.seeds_needed, counted(fewest, "comparison"),
        format_number(smallest_p(verdict.seeds_needed) * static_cast<double>(fewest), 2),
        verdict.seeds_needed_for_all > verdict.seeds_needed
            ? fmt::format("; {} if all of {} are made", verdict.seeds_needed_for_all, most)
            : std::string());
  if (!verdict.may_be_too_few()) return "";
  return fmt::format(
      "{} may not suffice: it is not known yet how many comparisons there will be. For any "
      "difference to be shown {} {} {} seeds, {} take {} (Holm's correction)",
      seeds, fewest, fewest == 1 ? "takes" : "take", verdict.seeds_needed, most,
      verdict.seeds_needed_for_all);
}

std::string family_words(const PlannedVerdict& verdict) {
  const auto [fewest, most] = verdict.comparisons;
  const bool is_known = verdict.comparisons.is_known();
  std::string words =
      fmt::format("{}{} to {}{}", is_known ? "" : fmt::format("{} to ", fewest),
                  counted(most, "comparison"), verdict.baseline,
                  verdict.settings > 1 ? fmt::format(" at {} settings", verdict.settings) : "");
  if (most == verdict.at_ends) return words;
  return words + fmt::format(": {} where each run ends, {}{} at equal {}", verdict.at_ends,
                             is_known ? "" : "up to ", most - verdict.at_ends,
                             equal_words(verdict.equal));
}

std::string words_of(const PlannedVerdict& verdict, int columns) {
  if (verdict.comparisons.most == 0) return "";
  std::string text =
      wrapped(fmt::format("The verdict is by {} (set by {}), over {}.", words_of(verdict.primary),
                          verdict.decided_by, family_words(verdict)),
              columns) +
      "\n";
  std::string seeds = fmt::format("A difference takes {}; there are {}.",
                                  seeds_words(verdict.comparisons, &seeds_needed), verdict.seeds);
  if (verdict.effect_shown)
    seeds += fmt::format(
        " With these, 4 of 5 studies show a difference that is {} times as large as its "
        "standard deviation from seed to seed.",
        format_number(*verdict.effect_shown, 3));
  text += wrapped(seeds, columns) + "\n";
  for (const PlannedMargin& one : verdict.margins)
    text +=
        wrapped(fmt::format("To be equivalent within {} in {} takes {}.", one.margin.words(),
                            words_of(one.metric), seeds_words(one.family, &seeds_needed_within)),
                columns) +
        "\n";
  return text;
}

nlohmann::json to_json(const PlannedVerdict& verdict) {
  if (verdict.comparisons.most == 0) return nullptr;
  std::vector<std::string> equal;
  for (const PositionAxis axis : verdict.equal) equal.emplace_back(name_of(axis));
  nlohmann::json margins = nlohmann::json::object();
  for (const PlannedMargin& one : verdict.margins)
    margins[one.metric] = {{"value", one.margin.value},
                           {"relative", one.margin.relative},
                           {"seeds_needed", seeds_needed_within(one.family.fewest)},
                           {"seeds_needed_for_all", seeds_needed_within(one.family.most)}};
  return {{"primary", verdict.primary},
          {"decided_by", verdict.decided_by},
          {"baseline", verdict.baseline},
          {"comparisons", verdict.comparisons.most},
          {"comparisons_at_least", verdict.comparisons.fewest},
          {"at_ends", verdict.at_ends},
          {"settings", verdict.settings},
          {"equal", equal},
          {"margins", margins},
          {"seeds", verdict.seeds},
          {"seeds_needed", verdict.seeds_needed},
          {"seeds_needed_for_all", verdict.seeds_needed_for_all},
          {"smallest_p", verdict.smallest_p},
          {"power", kPower},
          {"effect_shown",
           verdict.effect_shown ? nlohmann::json(*verdict.effect_shown) : nlohmann::json()}};
}

}  // namespace acid
