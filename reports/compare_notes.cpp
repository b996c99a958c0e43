#include "reports/compare_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/equal_places.hpp"
#include "reports/grouping.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"
#include "reports/primary.hpp"
#include "reports/realised_rate.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

std::vector<std::uint64_t> common_seeds(const ComparedGroup& a, const ComparedGroup& b) {
  const std::set<std::uint64_t> own = a.seeds(), other = b.seeds();
  std::vector<std::uint64_t> common;
  std::ranges::set_intersection(own, other, std::back_inserter(common));
  return common;
}

std::string few_seeds_words(int pairs, std::size_t comparisons, double least) {
  return fmt::format(
      "n = {} is too small to reach p = {}: the smallest p of the exact sign-flip test{} is {}; {} "
      "seeds could",
      pairs, ComparedDifference::kSignificance,
      comparisons > 1 ? fmt::format(", after Holm's correction over {} differences,", comparisons)
                      : "",
      format_number(least), seeds_needed(comparisons));
}

void note_seeds(Comparison& comparison) {
  int smallest = 0;  // number of seeds that a group has with its baseline
  for (const ComparedPoint& point : comparison.points) {
    const std::optional<std::size_t> baseline = baseline_for(point, comparison.primary);
    if (!baseline) continue;
    for (const std::size_t g : point.groups) {
      if (g == *baseline) continue;
      const int n =
          static_cast<int>(common_seeds(comparison.groups[g], comparison.groups[*baseline]).size());
      if (n > 0) smallest = smallest == 0 ? n : std::min(smallest, n);
    }
  }
  if (smallest == 0) return;
  if (smallest == 1) {
    comparison.notes.push_back(
        {NoteKind::few_seeds,
         "n = 1: one seed has no interval and no p; what differs may be the seed alone"});
    return;
  }
  const ComparedDifference* least = nullptr;  // that so many seeds could tell
  for (const ComparedDifference& one : comparison.differences)
    if (is_claim(comparison, one.metric) && one.smallest_p_holm &&
        (least == nullptr || *one.smallest_p_holm > *least->smallest_p_holm))
      least = &one;
  if (least != nullptr && *least->smallest_p_holm > ComparedDifference::kSignificance)
    comparison.notes.push_back(
        {NoteKind::few_seeds,
         few_seeds_words(least->value.pairs, family_size(comparison), *least->smallest_p_holm)});
}

std::string words_for(const nlohmann::json& value) {
  return value.is_null() ? "none" : value_text(value);
}

std::string other_settings(const ComparedGroup& group, const ComparedGroup& baseline,
                           const std::set<std::string>& searched) {
  const FlatSettings own = flatten(group.settings), other = flatten(baseline.settings);
  std::string what;
  for (const std::string& key : varying_keys(std::vector{other, own}))
    if (!is_algorithm_key(key) && !searched.contains(key))
      what += fmt::format("{}{} = {} (baseline {})", what.empty() ? "" : ", ", key,
                          words_for(value_at(own, key)), words_for(value_at(other, key)));
  return what;
}

/// The keys in which a search chose for the group.
std::set<std::string> chosen_keys(const Comparison& comparison, const ComparedGroup& group) {
  std::set<std::string> keys;
  for (const Selection& selection : comparison.selections)
    if (const Selection::Choice* const choice = selection.choice_of(group.runs_group))
      keys.insert(choice->keys.begin(), choice->keys.end());
  return keys;
}

/// Algorithms whose settings are compared as they were written, beside those that were searched.
void note_not_searched(Comparison& comparison) {
  if (comparison.selections.empty()) return;
  ComparedNote note{NoteKind::unequal_search, ""};
  std::set<std::string> labels;
  for (const ComparedGroup& group : comparison.groups)
    if (chosen_keys(comparison, group).empty()) {
      note.groups.push_back(group.group);
      if (labels.insert(group.label).second)
        note.text += (note.text.empty() ? "" : ", ") + group.label;
    }
  if (note.groups.empty()) return;
  note.text += ": not searched, so that settings are as written; a search makes others look better";
  comparison.notes.push_back(std::move(note));
}

void note_pair(GroupNotes notes, const ComparedGroup& baseline, const Comparison& comparison) {
  const ComparedGroup& group = notes.group();
  std::set<std::string> searched;  // for both
  std::ranges::set_intersection(chosen_keys(comparison, group), chosen_keys(comparison, baseline),
                                std::inserter(searched, searched.end()));
  if (const std::string what = other_settings(group, baseline, searched); !what.empty())
    notes.add(NoteKind::other_settings,
              fmt::format("{} also differs from its baseline in {}{}", notes.name(), what,
                          clocks_differ(group, baseline)
                              ? "; seconds of one are simulated, so they are not compared"
                              : ""));
  if (group.outcomes() == 0 || baseline.outcomes() == 0 || group.seeds() == baseline.seeds())
    return;
  const std::vector<std::uint64_t> common = common_seeds(group, baseline);
  notes.add(
      NoteKind::other_seeds,
      common.empty()
          ? fmt::format("{} has no seed in common with {}, so no difference to it", notes.name(),
                        baseline.label)
          : fmt::format("{}: differences to {} are over the {} that both have ({})", notes.name(),
                        baseline.label,
                        common.size() == 1 ? "one seed" : fmt::format("{} seeds", common.size()),
                        fmt::join(common, ", ")));
}

void note_points(Comparison& comparison) {
  for (std::size_t p = 0; p < comparison.points.size(); ++p) {
    const ComparedPoint& point = comparison.points[p];
    if (point.baseline) {
      for (const std::size_t g : point.groups)
        note_pair({comparison, p, g}, comparison.groups[*point.baseline], comparison);
      continue;
    }
    const std::string title = point_title(point);
    ComparedNote note{NoteKind::no_baseline,
                      fmt::format("no run of the baseline {}{}", comparison.baseline,
                                  title.empty() ? "" : " at " + title)};
    for (const std::size_t g : point.groups) note.groups.push_back(comparison.groups[g].group);
    if (comparison.points.size() > 1) note.point = p;
    comparison.notes.push_back(std::move(note));
  }
}

void note_outcomes(GroupNotes notes, const std::vector<ComparedRun>& runs) {
  const ComparedGroup& group = notes.group();
  if (!group.diverged.empty())
    notes.add(NoteKind::diverged,
              fmt::format("{}: {} of {} runs diverged (seed{} {}): worse than every finished run "
                          "wherever order counts, in no mean, no target reached",
                          notes.name(), group.diverged.size(), group.outcomes(),
                          group.diverged.size() == 1 ? "" : "s", fmt::join(group.diverged, ", ")));
  if (group.unfinished == 0) return;
  std::map<std::string, std::vector<std::uint64_t>> seeds;  // by state
  for (const ComparedRun& run : runs) {
    const RunState state = run.summary.state;
    if (run.summary.group == group.runs_group && !is_over(state))
      seeds[std::string(state_name(state))].push_back(run.summary.seed);
  }
  std::string what;
  for (const auto& [state, of] : seeds)
    what += fmt::format("{}{} {}: seed{} {}", what.empty() ? "" : "; ", of.size(), state,
                        of.size() == 1 ? "" : "s", fmt::join(of, ", "));
  notes.add(
      NoteKind::unfinished,
      fmt::format("{}: {} of {} runs are not in the numbers ({})", notes.name(), group.unfinished,
                  static_cast<std::size_t>(group.unfinished) + group.outcomes(), what));
}

/// Explains the numbers of differences, once.
void note_tests(Comparison& comparison) {
  bool any = false, ranks = false, survivors = false, margins = false;
  int family = 0;
  for (const ComparedDifference& difference : comparison.differences) {
    survivors = survivors || difference.is_of_survivors();
    if (!difference.value.p) continue;
    any = true;
    ranks = ranks || difference.value.test == PairedTest::signed_rank;
    margins = margins || difference.equivalence;
    if (difference.metric == comparison.primary) family = difference.family;
  }
  if (!any) return;
  std::string note = "p is of the exact two-sided sign-flip test, paired by seed";
  if (ranks)
    note +=
        " (of the signed-rank test where a run diverged or missed its target, or with more than 40 "
        "seeds)";
  note += ", adjusted by Holm over ";
  if (family > 0)
    note += fmt::format("the {} of {}{}", counted(family, "difference"), comparison.primary,
                        comparison.equal.empty() ? "" : ", wherever it is compared");
  note += fmt::format(
      "{}; the 95 % intervals of differences hold for all of a metric's at once (Bonferroni, "
      "Student's t); where interval and test disagree, the test decides",
      family > 0 ? ", and that of every other metric over the differences of that metric alone"
                 : "all differences of its metric");
  if (margins)
    note +=
        "; equivalence within a margin is two one-sided tests of that kind, p the larger, adjusted "
        "likewise";
  comparison.notes.push_back({NoteKind::tests, std::move(note)});
  if (survivors)
    comparison.notes.push_back(
        {NoteKind::survivors,
         "* mean over the seeds that finished in both; those that diverged are in p alone, and "
         "only where a metric has a better direction"});
}

/// Notes workers that trained alone although their method is one that exchanges.
void note_alone(GroupNotes notes, const std::vector<ComparedRun>& runs) {
  const ComparedGroup& group = notes.group();
  std::int64_t gradients = 0, bytes = 0;
  for (const ComparedRun& run : runs)
    if (run.summary.group == group.runs_group && run.summary.workers > 1) {
      gradients = std::max(gradients, run.summary.progress.gradients / run.summary.workers);
      bytes = std::max(bytes, run.summary.progress.bytes);
    }
  if (gradients > 0 && bytes == 0 &&
      number_at(group.settings, "/algorithm/communication_rate", 1) > 0)
    notes.add(
        NoteKind::never_exchanged,
        fmt::format("{}: workers never exchanged in their {} gradients", notes.name(), gradients));
}

/// A method that ran at another rate is another method.
void note_rate(GroupNotes notes, const std::vector<ComparedRun>& runs) {
  const ComparedGroup& group = notes.group();
  double sum = 0, gradients = 0;
  int count = 0;
  for (const ComparedRun& run : runs)
    if (run.summary.group == group.runs_group && run.realised_rate) {
      sum += *run.realised_rate;
      gradients += static_cast<double>(run.summary.progress.gradients);
      ++count;
    }
  if (count == 0) return;
  if (const auto doubt = rate_doubt(nominal_rate(group.settings).value_or(0), sum / count,
                                    gradients, saturates(group.settings)))
    notes.add(NoteKind::other_rate, fmt::format("{}: {}", notes.name(), *doubt));
}

/// The note's groups are those of runs, which may be at several points.
void add_selection_note(Comparison& comparison, ComparedNote note) {
  const std::vector<std::string> chosen = std::exchange(note.groups, {});
  for (const ComparedGroup& group : comparison.groups)
    if (std::ranges::find(chosen, group.runs_group) != chosen.end())
      note.groups.push_back(group.group);
  // A choice that is not compared has no number here.
  if (chosen.empty() || !note.groups.empty()) comparison.notes.push_back(std::move(note));
}

}  // namespace

double end_on(PositionAxis axis, const RunSummary& run, const nlohmann::json& settings) {
  constexpr double kSlack = 1e-9;
  double end = coordinate(run.progress, axis);
  const bool timed_out =
      run.progress.gradients < run.budget_gradients && !run.message.starts_with("target reached");
  if (axis == PositionAxis::seconds && timed_out)
    end = std::max(end, number_at(settings, "/budget/seconds", 0));
  return end * (1 + kSlack);
}

void add_notes(Comparison& comparison, const std::vector<ComparedRun>& runs,
               const CompareOptions& options) {
  for (Selection& selection : comparison.selections) {
    selection.same_seeds = selection.same_seeds || compared_on_its_seeds(comparison, selection);
    for (ComparedNote& note : selection_notes(selection, chose_for_all(comparison, selection)))
      add_selection_note(comparison, note);
  }
  note_not_searched(comparison);
  for (std::size_t p = 0; p < comparison.points.size(); ++p)
    for (const std::size_t g : comparison.points[p].groups) {
      const GroupNotes notes(comparison, p, g);
      note_outcomes(notes, runs);
      note_readings(notes, runs, options);
      note_rate(notes, runs);
      note_alone(notes, runs);
    }
  note_targets(comparison);
  note_points(comparison);
  if (const std::string rates = different_rates(comparison); !rates.empty())
    comparison.notes.push_back(
        {NoteKind::exchange_rates, "exchanges per gradient differ too: " + rates});
  note_seeds(comparison);
  note_outcome(comparison);
  note_tests(comparison);
  note_readings(comparison, options);
}

}  // namespace acid
