#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/methods/method.hpp"
#include "reports/comparison_plan.hpp"
#include "reports/notes.hpp"
#include "reports/reading.hpp"
#include "reports/rounding.hpp"
#include "reports/selection.hpp"
#include "reports/statistics.hpp"
#include "store/queries.hpp"

namespace acid {

struct CompareOptions {
  std::string baseline{kBaseline};      // algorithm or label; without any, the first stands in
  bool baseline_must_be_there = false;  // then a UsageError instead
  std::vector<std::string> metrics;     // empty: the losses and accuracies, consensus_distance
                                        // and totals, as far as recorded
  bool derive_all = false;              // also train_loss, the workers' own, auc_* and
                                        // exchanges_to_target where none are named: too many for a
                                        // screen, and some take reading whole series
  ReadAt at;                            // where in a run its series are read
  std::optional<Target> target;         // instead of the recipe's
  std::vector<std::string> by;  // dotted settings whose values make the sections that groups
                                // are shown in; empty: all that a sweep varies
  /// Only the best value of these keys for each algorithm and other setting (select_best()).
  std::vector<std::string> best_over;
  std::string best_on;  // by this metric; empty: select_best() says
  std::vector<std::uint64_t> selection_seeds;
  bool same_seeds = false;  // compared on the seeds that it was chosen on
};

/// Beside the values of recorded series, where options.at says, a run has these derived
/// metrics, all from what was recorded, never from what was thinned (reports/known_metrics.hpp has
/// their units and directions):
///   consensus_distance_mid  mean of the samples of consensus_distance between 20 % and 50 % of the
///                           budget or, where a run at the same swept settings ended before, of
///                           the shortest run. The last value depends on where the last exchange
///                           fell and on a learning rate that has decayed; this one compares
///                           methods.
///   gradients, seconds, bytes, gradients_per_second   totals where the run ended or, with a
///                           coordinate, there; seconds are simulated in `virtual`.
///   gradients_to_target, time_to_target, seconds_to_target, bytes_to_target, exchanges_to_target
///                           where the metric of options.target, else of the recipe's
///                           budget.target, else of that of the other runs at the same swept
///                           settings, first reached its value, on the line between the sample
///                           that did and the one before; absent in runs that never did. time:
///                           normalised.
///   auc_eval_accuracy, auc_eval_loss   mean height of the curve of eval_accuracy (eval_loss) over
///                           gradients from 0 to the run's end or, with a coordinate, along its
///                           axis from 0 to there: trapezoids between samples, level before the
///                           first and after the last.
///   eval_accuracy_at_equal_seconds, …_bytes, …_gradients, and so of eval_loss and
///                           train_loss_at_mean   where the first of the runs at the same swept
///                           settings ended on that axis, unless all ended there.

/// The part of a run that consensus_distance_mid is of.
struct MidSpan {
  PositionAxis axis = PositionAxis::gradients;
  double from = 0, to = 0;
  bool of_shortest = false;  // run; else of the budget
};

/// One algorithm at one setting, over its seeds.
struct ComparedGroup {
  std::string group;                 // digest, of this group alone
  std::string runs_group;            // that of its runs: another where they stand at several points
  std::string algorithm, label;      // no two groups of a sweep point share a label
  nlohmann::json settings;           // of its first run, without the seed
  std::vector<std::string> varying;  // dotted keys whose values tell the groups apart
  std::vector<RunSummary> runs;      // finished ones, by seed; metrics completed by derived ones
  std::vector<std::uint64_t> diverged;  // seeds of those that diverged: an outcome too
  int unfinished = 0;                   // interrupted, failed, or not yet run: no outcome
  /// Values over the seeds that finished. Of when a target was reached none where a run never did:
  /// a mean over the others looks best for a method that fails most.
  std::map<std::string, Estimate> metrics;
  /// Over all seeds with an outcome: see outcome_of().
  std::map<std::string, Robust> robust;
  /// Of what was read between samples: the coarsest over its runs.
  std::map<std::string, Reading> readings;
  std::map<std::string, double> bends;  // Reading::bend, the mean over its runs
  RunRounding rounding;                 // the largest over its runs
  std::optional<Target> target;         // that *_to_target are of: see settle_targets()

  std::size_t outcomes() const { return runs.size() + diverged.size(); }
  std::set<std::uint64_t> seeds() const;  // with an outcome
};

/// The value of a metric that a seed of the group ended with, for figures that rest on order alone.
/// A run that diverged is worse than every one that finished, and one that did not reach a target
/// infinitely late: both are infinite, on the worse side. Absent when the run has no outcome or not
/// this metric, and for a diverged run in a metric without a better direction; of *_to_target in a
/// group without a target.
std::optional<double> outcome_of(const ComparedGroup& group, std::uint64_t seed,
                                 const std::string& metric);

/// One group against its baseline in one metric. The differences whose p are adjusted together are
/// a family: all those in the primary outcome; of any other metric all of that metric.
struct ComparedDifference {
  std::string group, baseline;  // digests
  std::string metric;
  /// By seed: this group − baseline, of outcome_of(). Mean and interval are over the seeds that
  /// finished in both, and absent where a run of either did not reach its target; p is of all.
  PairedDifference value;
  int diverged = 0, baseline_diverged = 0;  // of the seeds that both have
  Estimate simultaneous;  // value.difference; the intervals of a family hold all at once at 95 %:
                          // Student's t at 1 − 0.05/family (Bonferroni)
  int family = 1;         // how many differences with a p it has
  /// Differences of a seed that are no larger are rounding (reports/rounding.hpp): the largest over
  /// the seeds, and that as a share of the value it is of.
  double rounding = 0, rounding_share = 0;
  /// What lines between samples are off by, of both groups together: a mean that is no larger
  /// decides nothing, its p is 1.
  double hidden = 0;
  bool is_hidden() const;
  /// Whether it is less than a margin, where the recipe has one for the metric.
  struct Equivalence {
    Margin margin;
    double size = 0;                  // of the margin in the metric's unit, the mean over the pairs
    std::optional<double> p, p_holm;  // of two one-sided tests; absent where a run diverged or
                                      // missed its target
    std::optional<int> seeds_to_show;  // see seeds_to_show_equivalent() of reports/power.hpp
  };
  std::optional<Equivalence> equivalence;
  std::optional<double> p_holm;           // p adjusted by Holm over the family
  std::optional<double> smallest_p_holm;  // that so many seeds could give; present where p is
  std::optional<int> seeds_to_show;       // see seeds_to_show() of reports/power.hpp
  /// Chance that a run of this group has a better value than one of the baseline, whatever their
  /// seeds; absent for a metric without a better direction.
  std::optional<Chance> improvement;

  static constexpr double kSignificance = 0.05;
};

/// How many times larger a positive metric is than the reference's: the honest scale for consensus
/// distances. The reference is the sweep point's baseline of consensus distances, else its baseline
/// or, where that is zero (all-reduce), its first group that is not.
struct ComparedRatio {
  std::string group, reference;  // digests
  std::string metric;
  PairedRatio value;  // by seed: this group / reference, of those that finished in both
  int diverged = 0;   // seeds that both have and of which one diverged
};

/// Groups that share every swept setting; only algorithms, and what a recipe sets for one of them,
/// differ within a point.
struct ComparedPoint {
  std::vector<std::pair<std::string, nlohmann::json>> settings;  // the swept keys; may be empty
  std::vector<std::size_t> groups;                               // indices, in the recipe's order
  std::optional<std::size_t> baseline;                           // index of its baseline group
  std::optional<std::size_t> consensus_baseline;  // that of consensus distances (primary.hpp)
  bool targets_differ = false;  // of its groups: then nothing compares *_to_target
  std::optional<MidSpan> mid;   // of its runs; absent where it was not read
};

/// Where all runs of a point have come equally far, as the first of them that ended.
struct EqualPlace {
  struct Stale {
    std::string metric;
    std::size_t group = 0;  // has no value there, since
    std::string run;        // its samples around there are furthest apart
    std::uint64_t seed = 0;
    double apart = 0;
  };
  PositionAxis axis = PositionAxis::seconds;
  std::size_t point = 0;  // index
  double place = 0;       // 0: a run did not move on this axis, and nothing is read
  bool at_end = false;    // all ended there: the last values are those
  std::string metric;     // the primary outcome there
  std::vector<Stale> stale;
};

/// What is shown as one table: the groups that share the values of CompareOptions::by. Every
/// difference is still taken to the baseline of the group's own point.
struct ComparedSection {
  std::vector<std::pair<std::string, nlohmann::json>> settings;
  std::vector<std::size_t> groups;  // indices, point by point
};

struct Comparison {
  std::string heading;                          // what was compared (reports/heading.hpp)
  std::vector<ComparedGroup> groups;            // in the recipe's order
  std::vector<ComparedDifference> differences;  // baseline: same settings but for the algorithm
  std::string baseline;
  std::string consensus_baseline_words;  // "as the recipe says": why it is that one
  ComparisonPlan plan;                   // what the recipe said of all this
  /// What the verdict is about (choose_primary()); empty where no outcome is compared.
  std::string primary;
  std::vector<ComparedNote> notes;    // "n = 3 is too small to reach p = 0.05", missing runs, …
  std::vector<std::string> metrics;   // those compared, in the order shown
  std::vector<ComparedPoint> points;  // every group is in exactly one
  std::vector<ComparedSection> sections;  // so too; without `by`, one for each point
  std::vector<std::string> by;            // settings that divide sections, as asked
  std::vector<std::string> columns;       // swept settings that differ within sections
  std::vector<ComparedRatio> ratios;
  ReadAt at;                          // as asked
  std::optional<Target> target;       // as asked; the recipes' have their groups' settings
  std::vector<EqualPlace> equal;      // by point, then axis
  std::vector<Selection> selections;  // what searches chose, where some did
};

/// Reads the runs' summaries, and of series what it compares of them. Groups are in the order of
/// `asked`. UsageError for no runs, for a metric that none of them has and for a setting that
/// none has.
Comparison compare(const Store& store, const AskedRuns& asked, const CompareOptions& options = {});

/// One finished or unfinished run as compare() takes it: everything it reads from the store.
struct ComparedRun {
  RunSummary summary;  // derived metrics included
  nlohmann::json settings;
  std::map<std::string, Reading> readings;  // of metrics that were read between samples
  /// Metrics that options.at has no value of: how far the samples around it are apart or, where one
  /// of them is not finite, nothing.
  std::map<std::string, std::optional<double>> not_read;
  bool ended_before = false;            // options.at
  RunRounding rounding;                 // what of it takes reading series
  std::optional<double> realised_rate;  // 2 × exchanges ÷ gradients, of pairwise exchanges
  std::optional<Target> target;         // that *_to_target were read of
  std::optional<MidSpan> mid;
};
/// A finished run with its derived metrics but those that depend on the other runs of its point
/// (read_in_points(), reads_equal_places()); of others nothing is read. A metric whose samples
/// around options.at are too far apart (kWidestBracket) has no value. UsageError for epochs where
/// the run has none.
ComparedRun read_compared_run(const Store& store, const RunSummary& summary,
                              const nlohmann::json& settings, const CompareOptions& options = {});
/// What the experiments of these runs searched and chose.
std::vector<Selection> selections_of(const Store& store, const std::vector<RunSummary>& runs);
/// Sets Comparison::equal and the metrics there of its groups' runs, once it has its points.
using FillEqualPlaces = std::function<void(Comparison&)>;
/// compare() without the store. `selections`: what the runs' experiments searched and chose;
/// `plans`: what their recipes say of comparing. UsageError where nothing can be read at
/// options.at.
Comparison compare_runs(std::vector<ComparedRun> runs, const CompareOptions& options = {},
                        std::vector<Selection> selections = {},
                        const std::vector<ComparisonPlan>& plans = {},
                        const FillEqualPlaces& fill_equal_places = {});

/// A metric's outcomes (outcome_of()) for the seeds that have one in both groups, by seed.
struct PairedValues {
  std::vector<double> a, b;
  std::vector<double> floors;  // rounding_floor(); 0 where one is infinite
  double hidden = 0;           // see ComparedDifference
};
/// paired_difference() of them.
PairedDifference tested(const PairedValues& pairs);
PairedValues paired_by_seed(const ComparedGroup& a, const ComparedGroup& b,
                            const std::string& metric);
/// How many seeds of `a` diverged that have an outcome in `b` too.
int diverged_beside(const ComparedGroup& a, const ComparedGroup& b);

/// The group of that digest, which the comparison has.
const ComparedGroup& group_of(const Comparison& comparison, const std::string& digest);
/// Some point's baseline in this metric is this group.
bool is_baseline(const Comparison& comparison, std::size_t group, std::string_view metric);
/// Runs of the group that did not reach their target, of a metric that says when they did. One that
/// diverged did not.
int censored(const ComparedGroup& group, const std::string& metric);
/// nullptr when the group has no difference (ratio) in the metric.
const ComparedDifference* find_difference(const Comparison& comparison, const std::string& group,
                                          const std::string& metric);
/// Those of a section's groups, group by group, in the order of the metrics.
std::vector<const ComparedDifference*> differences_in(const Comparison& comparison,
                                                      const ComparedSection& section);
const ComparedRatio* find_ratio(const Comparison& comparison, const std::string& group,
                                const std::string& metric);
/// "workers.count = 16, topology.kind = ring"; empty without settings.
std::string settings_title(const std::vector<std::pair<std::string, nlohmann::json>>& settings);
/// Of the swept settings of a point.
std::string point_title(const ComparedPoint& point);
/// A value of the metric in a unit a person would choose: "1.5 GB", "45 s", "0.91".
std::string format_metric_value(const std::string& metric, double value);
/// An estimate in the metric's unit: bytes and seconds in units a person would choose.
std::string format_metric(const std::string& metric, const Estimate& estimate);

/// "2 of 3": runs that reached their target, of a metric that says when they did.
std::string reached_cell(const ComparedGroup& group, const std::string& metric);
/// A group's estimate for a table of many metrics: "–" without a value, and "(2 of 3)" behind it
/// where the others diverged or, of a target, how many reached it: "reached by 2 of 3" has no mean.
std::string estimate_cell(const ComparedGroup& group, const std::string& metric);
/// "3", or "3 (7 of 10 diverged)".
std::string count_cell(const ComparedGroup& group);
/// A difference with its simultaneous interval; kSurvivors behind it where runs diverged.
std::string difference_cell(const ComparedDifference& difference);
inline constexpr std::string_view kSurvivors = " *";

/// For people. Colour is the caller's choice. From eight runs on, groups also have their
/// interquartile mean and their chance to be better than the baseline, where lines hold them.
std::string to_text(const Comparison& comparison, bool colour, const TextLines& lines = {});
/// {"schema_version", "heading", "baseline", "primary", "verdict": [sentence], "metrics": [name],
/// "by": [key], "sections": [{"settings": {key: value}, "groups": [group]}], "groups": [{"group",
/// "algorithm", "label", "settings", "varying": {key: value}, "n", "diverged", "unfinished",
/// "runs": [id], "seeds": [seed], "diverged_seeds": [seed], "metrics": {name: {"n", "diverged",
/// "mean", "sd", "se", "ci_low", "ci_high", "median", "iqm", "iqm_ci_low", "iqm_ci_high",
/// "censored", "reached", "target": {"metric", "value"}, "samples_apart", "resolution"}}}],
/// "equal": [{"axis", "settings", "place", "at_end", "metric", "stale": [{"group", "label", "run",
/// "seed", "samples_apart"}]}], "differences":
/// [{"group", "algorithm", "label", "baseline", "metric", "n", "mean", "sd", "se", "ci_low",
/// "ci_high", "simultaneous_ci_low", "simultaneous_ci_high", "pairs", "diverged",
/// "baseline_diverged", "test", "p", "p_holm", "family", "rounding", "margin", "p_equivalence",
/// "p_equivalence_holm", "seeds_to_show_equivalent", "verdict", "seeds_to_show", "improvement",
/// "improvement_ci_low", "improvement_ci_high"}], "selections": [to_json(Selection)], "ratios":
/// [{"group", "label", "reference", "metric", "n", "diverged", "mean", "ci_low", "ci_high"}],
/// "notes": [text], "caveats": notes_json()}. A missing interval and a value that is not finite are
/// null. "n" counts finished runs, "diverged" those that no mean holds. "censored", of *_to_target
/// only: runs that did not reach the target; "reached": the others. "samples_apart" and
/// "resolution": see Reading; 0 where every value is a sample's. "equal": see EqualPlace, "place"
/// null where it is 0. "p" is that of one test alone, "p_holm" the one that every table prints;
/// "test" says which test it is. "rounding": differences of a seed that are no larger are none
/// (reports/rounding.hpp). "margin": in the metric's unit; null without one. "p_equivalence": of
/// two one-sided tests. "seeds_to_show": with so many seeds a test shows the difference seen, if it
/// is the true one, with 80 % power, "seeds_to_show_equivalent" that it is less than the margin;
/// null where it was shown, or nobody can say. "verdict", of what has one (has_verdict()):
/// "better", "worse", "not shown", "too few seeds", "equal" or "equivalent within 0.01", which may
/// follow "better" or "worse" after a comma.
nlohmann::json to_json(const Comparison& comparison);
/// One row per group and metric: group, algorithm, label, the varying settings by dotted key (those
/// of `by` first), metric, n, mean, sd, se, ci_low, ci_high, baseline, difference,
/// difference_ci_low, difference_ci_high, p, p_holm, improvement, median, iqm, iqm_ci_low,
/// iqm_ci_high, difference_n, improvement_ci_low, improvement_ci_high, censored, diverged,
/// difference_diverged, baseline_diverged (of the seeds that both have), simultaneous_ci_low,
/// simultaneous_ci_high, test, family, verdict, reached, samples_apart, resolution and, of what was
/// chosen, selected_by, selection_values, selection_runs, selection_edges; rounding, margin,
/// p_equivalence, p_equivalence_holm, seeds_to_show_equivalent; notes: the kinds of notes on this
/// row (note_names()), seeds_to_show and, of *_to_target, target. Absent numbers are empty fields.
/// RFC 4180 quoting, "\n" line ends.
std::string to_csv(const Comparison& comparison);
std::string to_markdown(const Comparison& comparison);
/// A tabular for the booktabs package, one for each section, and the notes below; the verdict is a
/// comment above. With a caption, which is LaTeX, each is a table environment.
std::string to_latex(const Comparison& comparison, const std::string& caption = {});

}  // namespace acid
