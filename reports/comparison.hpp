#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/comparison_plan.hpp"
#include "reports/notes.hpp"
#include "reports/reading.hpp"
#include "reports/rounding.hpp"
#include "reports/selection.hpp"
#include "reports/statistics.hpp"
#include "store/queries.hpp"
#include "store/tags.hpp"

namespace acid {

/// The part of a run over which consensus_distance_mid is averaged.
struct MidSpan {
  PositionAxis axis = PositionAxis::gradients;
  double from = 0, to = 0;
  bool of_shortest = false;  // run; else of the budget
};

/// One algorithm at one setting, over its seeds.
struct ComparedGroup {
  std::string group;                 // digest, of this group alone
  std::string runs_group;            // its runs' digest; another one if they are at several points
  std::string algorithm, label;      // no two groups of a sweep point share a label
  nlohmann::json settings;           // of its first run, without the seed
  std::vector<std::string> varying;  // dotted keys whose values tell the groups apart
  std::vector<RunSummary> runs;      // finished ones, by seed; metrics completed by derived ones
  std::vector<std::uint64_t> diverged;  // seeds of runs that diverged, which is an outcome too
  int unfinished = 0;                   // interrupted, failed, or not yet run: no outcome
  /// Values over the seeds that finished. The way to a target has none if a run missed it: a mean
  /// over the others would look best for a method that fails most.
  std::map<std::string, Estimate> metrics;
  /// Over all seeds with an outcome: see outcome_of().
  std::map<std::string, Robust> robust;
  /// The coarsest reading between samples over its runs, by metric.
  std::map<std::string, Reading> readings;
  std::map<std::string, double> bends;  // Reading::bend, the mean over its runs
  RunRounding rounding;                 // the largest over its runs
  std::optional<Target> target;         // the target of *_to_target: see settle_targets()

  std::size_t outcomes() const { return runs.size() + diverged.size(); }
  /// The metric's estimate; without numbers if it has none.
  Estimate estimate_of(const std::string& metric) const;
  Robust robust_of(const std::string& metric) const;
  Reading reading_of(const std::string& metric) const;
  std::set<std::uint64_t> seeds() const;  // with an outcome
};

/// One group against its baseline in one metric. The differences whose p are adjusted together are
/// a family: all those in the primary outcome, and for any other metric all of that metric.
struct ComparedDifference {
  std::string group, baseline;  // digests
  std::string metric;
  /// By seed: this group − baseline, of outcome_of(). Mean and interval are over the seeds that
  /// finished in both, and absent if a run of either missed its target; p is over all seeds.
  PairedDifference value;
  int diverged = 0, baseline_diverged = 0;  // among the seeds that both have
  /// Whether there is a mean, and not over all seeds.
  bool is_of_survivors() const { return simultaneous.n > 0 && diverged + baseline_diverged > 0; }
  Estimate simultaneous;  // value.difference; the intervals of a family hold all at once at 95 %:
                          // Student's t at 1 − 0.05/family (Bonferroni)
  int family = 1;         // the number of differences with a p in it
  /// Differences of a seed that are no larger are rounding (reports/rounding.hpp): the largest over
  /// the seeds, and the same as a share of the value.
  double rounding = 0, rounding_share = 0;
  /// The error of lines between samples, for both groups together: what finite values differ by
  /// decides nothing if their mean is no larger, and p is 1 if all are finite.
  double hidden = 0;
  bool is_hidden() const;
  /// Seeds of *_to_target of which one run ended, short of the target, before the other reached it:
  /// which is sooner is not known.
  int unordered = 0;
  int both_missed = 0;  // pairs of infinite values: of runs that missed their target or diverged
  /// Whether the difference is less than a margin, if the recipe has one for the metric.
  struct Equivalence {
    Margin margin;
    double size = 0;                   // the margin in the metric's unit, the mean over the pairs
    std::optional<double> p, p_holm;   // of two one-sided tests; absent where a run diverged or
                                       // missed its target
    std::optional<int> seeds_to_show;  // see seeds_to_show_equivalent() of reports/power.hpp
  };
  std::optional<Equivalence> equivalence;
  std::optional<double> p_holm;           // p adjusted by Holm over the family
  std::optional<double> smallest_p_holm;  // that so many seeds could give; present if p is
  std::optional<int> seeds_to_show;       // see seeds_to_show() of reports/power.hpp
  /// Chance that a run of this group has a better value than one of the baseline, with any seeds;
  /// absent for a metric without a better direction.
  std::optional<Chance> improvement;

  static constexpr double kSignificance = 0.05;
};

/// How many times larger a positive metric is than the reference's: the right scale for consensus
/// distances. The reference is the sweep point's baseline of consensus distances, else its baseline
/// or, if that is zero (all-reduce), its first group that is not.
struct ComparedRatio {
  std::string group, reference;  // digests
  std::string metric;
  PairedRatio value;  // by seed: this group / reference, over the seeds that finished in both
  int diverged = 0;   // seeds that both have, with a run that diverged
};

/// Groups that share every swept setting; within a point only algorithms differ, and settings that
/// a recipe sets for one of them.
struct ComparedPoint {
  std::vector<std::pair<std::string, nlohmann::json>> settings;  // the swept keys; may be empty
  std::vector<std::size_t> groups;                               // indices, in the recipe's order
  std::optional<std::size_t> baseline;                           // index of its baseline group
  std::optional<std::size_t> consensus_baseline;  // that of consensus distances (primary.hpp)
  bool targets_differ = false;  // between its groups: then nothing compares *_to_target
  std::optional<MidSpan> mid;   // of its runs; absent if it was not read
};

/// The place where all runs of a point have come equally far: the end of the first that ended.
struct EqualPlace {
  struct Stale {
    std::string metric;
    std::size_t group = 0;  // index; it has no value there, because of `run`
    std::string run;        // the run whose samples around the place are furthest apart
    std::uint64_t seed = 0;
    double apart = 0;
  };
  PositionAxis axis = PositionAxis::seconds;
  std::size_t point = 0;  // index
  double place = 0;       // 0: a run did not move on this axis, and nothing is read
  bool at_end = false;    // all ended there, so the last values are used
  std::string metric;     // the primary outcome there
  std::vector<Stale> stale;
};

/// The groups of one table: those that share the values of CompareOptions::by. Every difference is
/// still to the baseline of the group's own point.
struct ComparedSection {
  std::vector<std::pair<std::string, nlohmann::json>> settings;
  std::vector<std::size_t> groups;  // indices, point by point
};

/// The runs that settle where values are read: where all have come equally far, the middle of runs,
/// and a target for runs without one.
struct Readers {
  std::vector<std::string> labels = {};   // empty: all runs
  std::vector<std::uint64_t> seeds = {};  // ascending

  bool take(const std::string& label) const {
    return labels.empty() || std::ranges::find(labels, label) != labels.end();
  }
  bool take(const RunSummary& run) const {
    return labels.empty() || (take(run.label.empty() ? run.algorithm : run.label) &&
                              std::ranges::binary_search(seeds, run.seed));
  }
};

struct Comparison {
  std::string heading;  // what was compared (reports/heading.hpp)
  Readers readers;
  std::vector<Tagged> tagged;                   // what has tags or notes (reports/tags.hpp)
  std::vector<ComparedGroup> groups;            // in the recipe's order
  std::vector<ComparedDifference> differences;  // baseline: same settings except the algorithm
  std::string baseline;
  std::string consensus_baseline_words;  // "as the recipe says": the reason for this baseline
  ComparisonPlan plan;                   // what the recipe says about all this
  /// The verdict's metric (choose_primary()); empty if no outcome is compared.
  std::string primary;
  std::vector<ComparedNote> notes;    // "n = 3 is too small to reach p = 0.05", missing runs, …
  std::vector<std::string> metrics;   // compared metrics, in the order shown
  std::vector<ComparedPoint> points;  // every group is in exactly one
  std::vector<ComparedSection> sections;  // so too; without `by`, one for each point
  std::vector<std::string> by;            // settings that divide sections, as asked
  std::vector<std::string> columns;       // swept settings that differ within sections
  std::vector<ComparedRatio> ratios;
  ReadAt at;                          // as asked
  std::optional<Target> target;       // as asked; recipes' targets are in their groups' settings
  std::vector<EqualPlace> equal;      // by point, then axis
  std::vector<Selection> selections;  // the searches' choices, if any
};

/// The group with that digest, which the comparison has.
const ComparedGroup& group_of(const Comparison& comparison, const std::string& digest);
/// Whether this group is the baseline of a point in this metric.
bool is_baseline(const Comparison& comparison, std::size_t group, std::string_view metric);
/// The number of the group's runs that missed their target, for a metric that measures the way to
/// it. Runs that diverged count.
int censored(const ComparedGroup& group, const std::string& metric);
/// nullptr if the group has no difference (ratio) in the metric.
const ComparedDifference* find_difference(const Comparison& comparison, const std::string& group,
                                          const std::string& metric);
/// The groups of a section.
std::vector<const ComparedGroup*> groups_of(const Comparison& comparison,
                                            const ComparedSection& section);
const ComparedRatio* find_ratio(const Comparison& comparison, const std::string& group,
                                const std::string& metric);
/// "workers.count = 16, topology.kind = ring"; empty without settings.
std::string settings_title(const std::vector<std::pair<std::string, nlohmann::json>>& settings);
/// The swept settings of a point, as settings_title().
std::string point_title(const ComparedPoint& point);

}  // namespace acid
