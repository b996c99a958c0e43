#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/methods/method.hpp"
#include "reports/comparison.hpp"

namespace acid {

struct CompareOptions {
  std::string baseline{kBaseline};        // algorithm or label; without any, the first stands in
  bool baseline_must_be_there = false;    // then a UsageError instead
  std::vector<std::string> metrics = {};  // empty: the losses and accuracies, consensus_distance
                                          // and totals, as far as recorded
  /// Also train_loss, the workers' own, auc_* and exchanges_to_target where none are named: too
  /// many for a screen, and some take reading whole series.
  bool derive_all = false;
  ReadAt at = {};                     // where in a run its series are read
  std::optional<Target> target = {};  // instead of the recipe's
  std::vector<std::string> by = {};   // dotted settings whose values make the sections that groups
                                      // are shown in; empty: all that a sweep varies
  /// Only the best value of these keys for each algorithm and other setting (select_best()).
  std::vector<std::string> best_over = {};
  std::string best_on = {};  // by this metric; empty: select_best() says
  std::vector<std::uint64_t> selection_seeds = {};
  bool same_seeds = false;  // compared on the seeds that it was chosen on
  Readers readers = {};     // the others are read where these are
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

/// Reads the runs' summaries, and of series what it compares of them. Groups are in the order of
/// `asked`. UsageError for no runs, for a metric that none of them has and for a setting that
/// none has.
Comparison compare(const Store& store, const AskedRuns& asked, const CompareOptions& options = {});

/// A finished or unfinished run: everything that compare() reads of it from the store.
struct ComparedRun {
  RunSummary summary;  // derived metrics included
  nlohmann::json settings;
  std::map<std::string, Reading> readings;  // of metrics that were read between samples
  /// Metrics without a value at options.at: how far apart the samples around it are; nothing if one
  /// of them is not finite.
  std::map<std::string, std::optional<double>> not_read;
  bool ended_before = false;            // options.at
  RunRounding rounding;                 // the part that takes reading series
  std::optional<double> realised_rate;  // 2 × exchanges ÷ gradients, of pairwise exchanges
  std::optional<Target> target;         // the target of *_to_target
  std::optional<MidSpan> mid;
};
/// A finished run with its derived metrics, except those that depend on the other runs of its point
/// (read_in_points(), reads_equal_places()); nothing is read of other runs. A metric whose samples
/// around options.at are too far apart (kWidestBracket) has no value. UsageError for epochs where
/// the run has none.
ComparedRun read_compared_run(const Store& store, const RunSummary& summary,
                              const nlohmann::json& settings, const CompareOptions& options = {});
/// compare() of runs that have been read one by one, parallel to their summaries.
Comparison compare_read(const Store& store, std::vector<ComparedRun> runs,
                        const std::vector<RunSummary>& summaries, const CompareOptions& options);
/// Sets Comparison::equal and its metrics in the groups' runs, once the comparison has its points.
using FillEqualPlaces = std::function<void(Comparison&)>;
/// compare() without the store. `selections`: what the runs' experiments searched and chose;
/// `plans`: what their recipes say about comparing. UsageError if nothing can be read at
/// options.at.
Comparison compare_runs(std::vector<ComparedRun> runs, const CompareOptions& options = {},
                        std::vector<Selection> selections = {},
                        const std::vector<ComparisonPlan>& plans = {},
                        const FillEqualPlaces& fill_equal_places = {});

/// The value of a metric that a seed of the group ended with, for figures that rest on order alone.
/// A run that diverged is worse than every one that finished, and one that did not reach a target
/// infinitely late: both are infinite, on the worse side. Absent when the run has no outcome or not
/// this metric, and for a diverged run in a metric without a better direction; of *_to_target in a
/// group without a target.
std::optional<double> outcome_of(const ComparedGroup& group, std::uint64_t seed,
                                 const std::string& metric);

/// Whether the seconds of one group's runs are simulated and those of the other's are real, so that
/// nothing that is read on the clock compares them.
bool clocks_differ(const ComparedGroup& a, const ComparedGroup& b);

/// A metric's outcomes (outcome_of()) for the seeds that have one in both groups, by seed; none of
/// a metric that is read on the clock (is_on_clock()) where clocks differ.
struct PairedValues {
  std::vector<double> a, b;
  std::vector<double> floors;  // floor_between(); 0 where one is infinite
  double hidden = 0;           // see ComparedDifference
  int unordered = 0;           // likewise; these count as equal
};
/// rounding_floor() of two of the groups' outcomes.
double floor_between(const ComparedGroup& a, const ComparedGroup& b, const std::string& metric,
                     double of_a, double of_b);
/// paired_difference() of the pairs.
PairedDifference tested(const PairedValues& pairs);
PairedValues paired_by_seed(const ComparedGroup& a, const ComparedGroup& b,
                            const std::string& metric);
/// The number of seeds of `a` that diverged and have an outcome in `b` too.
int diverged_beside(const ComparedGroup& a, const ComparedGroup& b);

}  // namespace acid
